// Tests the tensor cores of this machine's GPU on inputs that distinguish the generations'
// arithmetic, and its special functions over all floats.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "harness/devices/arithmetic_check.h"
#include "harness/devices/gpu_device.h"
#include "harness/devices/special_function_check.h"
#include "harness/environment_error.h"

namespace sparkbench {
namespace {

/// One dot product of `terms` terms: the given leading ones, then zeros.
VectorRow row_of(std::size_t terms, const std::vector<float>& a, const std::vector<float>& b,
                 float c) {
  VectorRow row = {};
  row.a.resize(terms, Half{0});
  row.b.resize(terms, Half{0});
  for (std::size_t k = 0; k < a.size(); ++k) row.a[k] = to_half(a[k]);
  for (std::size_t k = 0; k < b.size(); ++k) row.b[k] = to_half(b[k]);
  row.c_f32 = float_bits(c);
  row.c_f16 = to_half(c);
  return row;
}

/// Alignment, truncation, cancellation, ties, underflow and overflow.
std::vector<VectorRow> telling_rows(std::size_t terms) {
  return {
      row_of(terms, {-2048, -0.5f, -0.25f, -0.125f}, {4096, 1, 1, 1}, 0x1p23f),
      row_of(terms, {0x1.8p-12f}, {0x1p-12f}, 1),
      row_of(terms, {0x1p-12f, 0x1p-12f, 0x1p-12f, 0x1p-12f},
             {0x1p-13f, 0x1p-13f, 0x1p-13f, 0x1p-13f}, 1),
      row_of(terms, {1.5f, -1.5f}, {1.5f, 1.5f}, 0x1p-23f),
      row_of(terms, {0x1p-6f, 0x1p-12f}, {0x1p-5f, 0x1p-13f}, 1),
      row_of(terms, {0x1p-24f}, {-0x1p-24f}, 0),
      row_of(terms, {256}, {256}, 0),
  };
}

class AskGpu : public testing::TestWithParam<std::size_t> {};

TEST_P(AskGpu, GivesTheBitsOfItsArchitecturesModel) {
  if (gpu_count() == 0) GTEST_SKIP() << "no CUDA device";
  const std::unique_ptr<Device> device = open_gpu(0);
  const ArithmeticProfile* profile = nullptr;
  try {
    profile = &native_profile(*device->info().sm, GetParam());
  } catch (const EnvironmentError& error) {
    GTEST_SKIP() << error.what();
  }
  const ReplayResult result = replay(*profile, ask_gpu(telling_rows(GetParam())));
  EXPECT_EQ(result.reproduced_f32, result.rows);
  EXPECT_EQ(result.reproduced_f16, result.rows);
}

INSTANTIATE_TEST_SUITE_P(Terms, AskGpu, testing::Values(4, 8, 16));

TEST(SpecialFunctions, HaveTheBitsOfTheModelEverywhere) {
  if (gpu_count() == 0) GTEST_SKIP() << "no CUDA device";
  std::ostringstream out;
  EXPECT_EQ(check_special_functions({}, "cuda:0", out), ExitCode::kOk) << out.str();
}

}  // namespace
}  // namespace sparkbench
