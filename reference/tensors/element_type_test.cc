#include "reference/tensors/element_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace sparkbench {
namespace {

TEST(ElementTypeTest, Bf16RoundsToNearestEven) {
  EXPECT_EQ(to_bf16_bits(1.0f), 0x3f80);
  EXPECT_EQ(to_bf16_bits(1.0f + 0x1p-8f), 0x3f80);             // a tie, to even
  EXPECT_EQ(to_bf16_bits(1.0f + 3 * 0x1p-8f), 0x3f82);         // a tie, to even
  EXPECT_EQ(to_bf16_bits(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);  // above the tie
  EXPECT_EQ(to_bf16_bits(-2.0f), 0xc000);
  EXPECT_EQ(to_bf16_bits(0x1p-130f), 0x0008);  // subnormal
  EXPECT_EQ(to_bf16_bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16_bits(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_EQ(to_bf16_bits(std::numeric_limits<float>::quiet_NaN()), 0x7fff);
}

TEST(ElementTypeTest, RoundingIsThatOfTheType) {
  EXPECT_EQ(rounded_to(ElementType::kFp16, 1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(rounded_to(ElementType::kBf16, 1.0f + 0x1p-10f), 1.0f);
  EXPECT_NEAR(rounded_to(ElementType::kBf16, 1e30f), 1e30f, 0x1p-8f * 1e30f);
  EXPECT_TRUE(std::isinf(rounded_to(ElementType::kFp16, 1e30f)));
}

/// Every input that the host keeps for bf16 comes back from the kernel's words.
TEST(ElementTypeTest, InputsAreNumbersOfBothTypes) {
  std::vector<Half> kept;
  for (float value = 0x1p-24f; value < 65000.0f; value *= 1.0037f) {
    kept.push_back(to_input(ElementType::kBf16, value));
    kept.push_back(to_input(ElementType::kBf16, -value));
  }
  const std::vector<Half> words = as_kernel_has(ElementType::kBf16, kept);
  const std::vector<Half> back = as_host_keeps(ElementType::kBf16, words);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(back[i].bits, kept[i].bits) << to_float(kept[i]);
    ASSERT_EQ(float_from_bits(static_cast<std::uint32_t>(words[i].bits) << 16), to_float(kept[i]));
  }
}

TEST(ElementTypeTest, Fp16TensorsStayAsTheyAre) {
  const std::vector<Half> kept = {{0x3c01}, {0x7e5a}, {0x8001}};
  const std::vector<Half> words = as_kernel_has(ElementType::kFp16, kept);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(words[i].bits, kept[i].bits);
}

TEST(ElementTypeTest, NamesAreParsed) {
  ElementType element = ElementType::kFp16;
  parse_name("bf16", element);
  EXPECT_EQ(element, ElementType::kBf16);
  EXPECT_EQ(name_of(element), "bf16");
  EXPECT_THROW(parse_name("fp8", element), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
