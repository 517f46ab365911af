#include "kernels/machine/emulated/special_functions/gpu_float.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(FlushSubnormal, KeepsTheSignAndEveryNormalNumber) {
  EXPECT_EQ(float_bits(flush_subnormal(0x1p-130f)), 0u);
  EXPECT_EQ(float_bits(flush_subnormal(-0x1p-130f)), 0x80000000u);
  EXPECT_EQ(flush_subnormal(0x1p-126f), 0x1p-126f);
  EXPECT_TRUE(std::isnan(flush_subnormal(canonical_nan())));
}

}  // namespace
}  // namespace sparkbench
