#include "harness/inspect/kernel_launch.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

KernelInstance instance(std::string pass, int head_dim) {
  return {.kernel = "volta-fp32acc",
          .pass = std::move(pass),
          .accumulator = Accumulator::kFp32,
          .head_dim = head_dim,
          .has_dropout = false,
          .adds_dq = true,
          .variant = "",
          .products = 2};
}

TEST(KernelLaunch, OfEveryPassFitsAnSm) {
  for (const std::string pass : {"fwd", "bwd", "bwd-dq"}) {
    for (const int head_dim : {64, 128}) {
      const auto launch = launch_of(instance(pass, head_dim));
      ASSERT_TRUE(launch) << pass;
      EXPECT_EQ(launch->threads % 32, 0) << pass;
      EXPECT_GT(launch->threads, 0) << pass;
      // At least a tile of K or Q.
      EXPECT_GE(launch->dynamic_shared_bytes, launch->step_columns * head_dim * 2) << pass;
      EXPECT_LE(launch->dynamic_shared_bytes, 96 * 1024) << pass;
      EXPECT_GT(launch->block_rows, 0) << pass;
    }
  }
}

TEST(KernelLaunch, OfAForwardKernelForSmallerSharedMemoryFitsATuring) {
  KernelInstance small = instance("fwd", 128);
  small.variant = "/4";
  const auto launch = launch_of(small);
  ASSERT_TRUE(launch);
  EXPECT_LT(launch->threads, launch_of(instance("fwd", 128))->threads);
  EXPECT_LE(launch->dynamic_shared_bytes, 64 * 1024);
}

TEST(KernelLaunch, OfAnInstanceThatIsNotLaunchedIsUnknown) {
  EXPECT_FALSE(launch_of(instance("fwd", 96)));
  KernelInstance variant = instance("fwd", 64);
  variant.variant = "/16";
  EXPECT_FALSE(launch_of(variant));
}

}  // namespace
}  // namespace sparkbench
