#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <set>

namespace sparkbench {
namespace {

TEST(Registry, NamesEachKernelOnce) {
  std::set<std::string_view> seen;
  for (const AttentionKernel& kernel : attention_kernels()) {
    EXPECT_TRUE(seen.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(find_attention_kernel(kernel.name), &kernel);
  }
  EXPECT_EQ(find_attention_kernel("no-such-kernel"), nullptr);
}

TEST(Registry, GivesTheBackwardPassAWorkspaceLinearInTheSequence) {
  const AttentionKernel* kernel = find_attention_kernel("volta-fp32acc");
  ASSERT_NE(kernel, nullptr);
  Problem problem{.batch = 2, .heads = 3, .seqlen_q = 1024, .seqlen_k = 1024, .head_dim = 64};
  const std::size_t bytes = kernel->backward.workspace_bytes(problem, false);
  EXPECT_EQ(bytes, 2u * 3 * 1024 * (64 + 2) * 4);
  EXPECT_EQ(kernel->backward.workspace_bytes(problem, true), 2u * 3 * 1024 * 2 * 4);
  problem.seqlen_q *= 2;
  EXPECT_EQ(kernel->backward.workspace_bytes(problem, false), 2 * bytes);
}

TEST(Registry, HasTheBackwardPassOfTheKernelsWithOneAccumulatorForAllMmasOfATile) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    const bool is_expected = kernel.name == "volta-fp16acc" || kernel.name == "volta-fp32acc";
    EXPECT_EQ(kernel.has_backward(), is_expected) << kernel.name;
    EXPECT_NE(kernel.forward.emulate, nullptr) << kernel.name;
  }
}

TEST(Registry, SaysWhichHeadDimsTheVoltaKernelsLack) {
  const AttentionKernel* kernel = find_attention_kernel("volta-fp32acc");
  ASSERT_NE(kernel, nullptr);
  Problem problem;
  problem.head_dim = 64;
  EXPECT_EQ(kernel->unsupported(problem), std::nullopt);
  problem.head_dim = 96;
  EXPECT_EQ(kernel->unsupported(problem), "head_dim 96 (64 and 128 are supported)");
}

TEST(Registry, CallsM8n8k4NativeOnVoltaAndTuringOnly) {
  const AttentionKernel* kernel = find_attention_kernel("volta-fp16acc");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->is_native(70));
  EXPECT_TRUE(kernel->is_native(75));
  EXPECT_FALSE(kernel->is_native(80));
  EXPECT_FALSE(kernel->is_native(90));
}

}  // namespace
}  // namespace sparkbench
