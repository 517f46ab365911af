#include "reference/tensors/host_tensor.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/testing/messages.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench {
namespace {

constexpr TensorShape kShape = {/*batch=*/2, /*seqlen=*/4, /*heads=*/3, /*head_dim=*/2};

std::string why_refused(const HostTensor& tensor) {
  return message_of<std::invalid_argument>([&] { tensor.check("k", kShape); });
}

TEST(HostTensor, IsContiguousUnlessItHasStrides) {
  const std::vector<Half> memory(48);
  const TensorView<const Half> view = HostTensor(memory).view(kShape);
  // Element (b, s, h, d) is at ((b * 4 + s) * 3 + h) * 2 + d.
  EXPECT_EQ(view.row(1, 3, 2), &memory[46]);
  EXPECT_EQ(view.row(0, 2, 1), &memory[14]);
}

TEST(HostTensor, FindsRowsByItsStrides) {
  const std::vector<Half> memory(48);
  // [batch, heads, seqlen, head_dim]: ((b * 3 + h) * 4 + s) * 2 + d.
  const TensorView<const Half> view = HostTensor(memory, {24, 2, 8}).view(kShape);
  EXPECT_EQ(view.row(1, 3, 2), &memory[46]);
  EXPECT_EQ(view.row(0, 2, 1), &memory[12]);
}

TEST(HostTensor, RefusesMemoryThatDoesNotHoldIt) {
  const std::vector<Half> memory(49);
  EXPECT_EQ(why_refused(std::span(memory).first(48)), "");
  EXPECT_EQ(why_refused(memory), "k has 49 elements, the problem asks for 48");
  EXPECT_EQ(why_refused({memory, {24, 2, 8}}), "");
  EXPECT_EQ(why_refused({std::span(memory).first(47), {24, 2, 8}}),
            "k has 47 elements, its strides reach over 48");
  EXPECT_EQ(why_refused({memory, {24, -2, 8}}), "k has a negative stride");
}

TEST(LaidOutTensor, HoldsTheSameRowsInEveryLayout) {
  std::vector<Half> contiguous(48);
  for (std::size_t i = 0; i < 48; ++i) contiguous[i].bits = static_cast<std::uint16_t>(i);
  for (const TestLayout layout : kTestLayouts) {
    LaidOutTensor laid_out(contiguous, kShape, layout);
    laid_out.tensor().check("k", kShape);
    for (const KeyRow& r : all_rows_of<KeyRow>(kShape)) {
      const auto got = row_of(laid_out.tensor(), kShape, r), want = row_of(contiguous, kShape, r);
      EXPECT_EQ(got[0].bits, want[0].bits) << name_of(layout);
      EXPECT_EQ(got[1].bits, want[1].bits) << name_of(layout);
    }
    EXPECT_TRUE(laid_out.has_untouched_gaps()) << name_of(layout);
    laid_out.memory[laid_out.first - 1].bits = 0;
    EXPECT_FALSE(laid_out.has_untouched_gaps()) << name_of(layout);
  }
}

}  // namespace
}  // namespace sparkbench
