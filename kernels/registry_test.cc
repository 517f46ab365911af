#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <set>

namespace sparkbench {
namespace {

TEST(Registry, NamesEachKernelOfAPassOnce) {
  std::set<std::pair<std::string_view, Pass>> seen;
  for (const AttentionKernel& kernel : attention_kernels()) {
    EXPECT_TRUE(seen.insert({kernel.name, kernel.pass}).second) << kernel.name;
    EXPECT_EQ(find_attention_kernel(kernel.name, kernel.pass), &kernel);
  }
  EXPECT_EQ(find_attention_kernel("no-such-kernel", Pass::kForward), nullptr);
}

TEST(Registry, SaysWhichHeadDimsTheVoltaKernelsLack) {
  const AttentionKernel* kernel = find_attention_kernel("volta-fp32acc", Pass::kForward);
  ASSERT_NE(kernel, nullptr);
  Problem problem;
  problem.head_dim = 64;
  EXPECT_EQ(kernel->unsupported(problem), std::nullopt);
  problem.head_dim = 96;
  EXPECT_EQ(kernel->unsupported(problem), "head_dim 96 (64 and 128 are supported)");
}

TEST(Registry, CallsM8n8k4NativeOnVoltaAndTuringOnly) {
  const AttentionKernel* kernel = find_attention_kernel("volta-fp16acc", Pass::kForward);
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->is_native(70));
  EXPECT_TRUE(kernel->is_native(75));
  EXPECT_FALSE(kernel->is_native(80));
  EXPECT_FALSE(kernel->is_native(90));
}

}  // namespace
}  // namespace sparkbench
