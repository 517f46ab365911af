#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"

#include <gtest/gtest.h>

#include <set>

namespace sparkbench {
namespace {

/// Emulated, since a build may have no code for them.
constexpr KernelDevice kV100{70, 96 << 10, true}, kH100{90, 227 << 10, true};

const AttentionKernel& kernel_named(std::string_view name) {
  const AttentionKernel* const kernel = find_attention_kernel(name);
  if (kernel == nullptr) throw std::invalid_argument("no such kernel");
  return *kernel;
}

TEST(Registry, NamesEachKernelOnce) {
  std::set<std::string_view> seen;
  for (const AttentionKernel& kernel : attention_kernels()) {
    EXPECT_TRUE(seen.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(find_attention_kernel(kernel.name), &kernel);
  }
  EXPECT_EQ(find_attention_kernel("no-such-kernel"), nullptr);
}

TEST(Registry, NamesEachInstanceAfterItsKernel) {
  std::set<std::string_view> ids;
  for (const KernelInstance& instance : kernel_instances()) {
    EXPECT_TRUE(ids.insert(instance.id).second) << instance.id;
    EXPECT_EQ(find_kernel_instance(instance.symbol), &instance);
    const AttentionKernel& kernel = kernel_named(instance.kernel());
    EXPECT_EQ(kernel.instruction, instance.instruction) << instance.id;
    EXPECT_EQ(kernel.accumulator, instance.accumulator) << instance.id;
  }
  EXPECT_EQ(find_kernel_instance("no_such_symbol"), nullptr);
}

TEST(Registry, CanEmulateEveryKernel) {
  for (const AttentionKernel& kernel : attention_kernels()) {
    EXPECT_NE(kernel.emulate, nullptr) << kernel.name;
  }
}

TEST(Registry, HasFusedKernelsOfBothPasses) {
  std::set<std::string_view> names;
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (kernel.is_baseline) continue;
    EXPECT_TRUE(kernel.has_backward()) << kernel.name;
    names.insert(kernel.name);
  }
  EXPECT_EQ(names,
            (std::set<std::string_view>{"hopper-fp32acc", "volta-fp16acc", "volta-fp32acc"}));
}

TEST(VoltaWorkspace, IsLinearInTheSequence) {
  const AttentionKernel& kernel = kernel_named("volta-fp32acc");
  Problem problem{.batch = 2, .heads = 3, .seqlen_q = 1024, .seqlen_k = 1024, .head_dim = 64};
  const std::uint64_t bytes = workspace_bytes(kernel, problem, Pass::kBackward, false);
  EXPECT_EQ(bytes, 2u * 3 * 1024 * (64 + 2) * 4);
  EXPECT_EQ(workspace_bytes(kernel, problem, Pass::kForwardBackward, false), bytes);
  EXPECT_EQ(workspace_bytes(kernel, problem, Pass::kBackward, true), 2u * 3 * 1024 * 2 * 4);
  EXPECT_EQ(workspace_bytes(kernel, problem, Pass::kForward, false), 0u);
  problem.seqlen_q *= 2;
  EXPECT_EQ(workspace_bytes(kernel, problem, Pass::kBackward, false), 2 * bytes);
}

TEST(VoltaWorkspace, HasSumsOfWholeColumnBlocks) {
  const AttentionKernel& kernel = kernel_named("volta-fp32acc");
  Problem problem{.seqlen_q = 640, .seqlen_k = 640, .head_dim = 40};
  EXPECT_EQ(workspace_bytes(kernel, problem, Pass::kBackward, false), 640u * (64 + 2) * 4);
  // With a dQ semaphore (kernels/volta/backward/relay_plan.h), one more word for each of the four
  // steps of 32 queries.
  problem.seqlen_q = problem.seqlen_k = 128;
  EXPECT_EQ(workspace_bytes(kernel, problem, Pass::kBackward, false), 128u * (64 + 2) * 4 + 4u * 4);
}

TEST(VoltaWorkspace, SaturatesBeyond64Bits) {
  const Problem problem{
      .batch = 1 << 24, .heads = 1 << 24, .seqlen_q = 1 << 24, .seqlen_k = 1, .head_dim = 64};
  EXPECT_EQ(workspace_bytes(kernel_named("volta-fp32acc"), problem, Pass::kBackward, false),
            ~std::uint64_t{0});
}

TEST(VoltaSupport, SaysWhichHeadDimsItLacks) {
  const AttentionKernel& kernel = kernel_named("volta-fp32acc");
  Problem problem;
  EXPECT_TRUE(kernel.supports(problem, kV100, false));
  for (const int head_dim : {96, 136, 256}) {
    problem.head_dim = head_dim;
    EXPECT_TRUE(kernel.supports(problem, kV100, false));
  }
  for (const int head_dim : {4, 100, 264}) {
    problem.head_dim = head_dim;
    EXPECT_EQ(kernel.supports(problem, kV100, false).why_not,
              "head_dim " + std::to_string(head_dim) + " (multiples of 8 up to 256 are supported)");
  }
}

TEST(VoltaSupport, DependsOnTheDevice) {
  const AttentionKernel& kernel = kernel_named("volta-fp32acc");
  EXPECT_TRUE(kernel.supports({}, kH100, false));
  EXPECT_EQ(kernel.supports({.head_dim = 160}, {75, 64 << 10, true}, false).why_not,
            "head_dim 160 with less than 96 KiB of shared memory a block (multiples of 8 up to 128 "
            "are supported)");
  EXPECT_EQ(kernel.supports({}, {61, 96 << 10, true}, false).why_not,
            "compute capabilities below 7.0");
  EXPECT_EQ(kernel.supports({}, {75, 48 << 10, true}, false).why_not,
            "blocks of less than 64 KiB of shared memory");
}

TEST(MmaInstruction, IsNativeWhereTensorCoresHaveIt) {
  EXPECT_TRUE(is_native(MmaInstruction::kM8n8k4, 70));
  EXPECT_TRUE(is_native(MmaInstruction::kM8n8k4, 75));
  EXPECT_FALSE(is_native(MmaInstruction::kM8n8k4, 80));
  EXPECT_FALSE(is_native(MmaInstruction::kM16n8k16, 75));
  EXPECT_TRUE(is_native(MmaInstruction::kM16n8k16, 90));
  EXPECT_FALSE(is_native(MmaInstruction::kWgmma, 80));
  EXPECT_TRUE(is_native(MmaInstruction::kWgmma, 90));
  EXPECT_FALSE(is_native(MmaInstruction::kWgmma, 100));
}

TEST(MmaInstruction, IsCompiledWhereSomethingComputesIt) {
  EXPECT_TRUE(is_compiled_for(MmaInstruction::kM8n8k4, 90));  // on CUDA cores
  EXPECT_FALSE(is_compiled_for(MmaInstruction::kM8n8k4, 61));
  EXPECT_TRUE(is_compiled_for(MmaInstruction::kWgmma, 90));
  EXPECT_FALSE(is_compiled_for(MmaInstruction::kWgmma, 80));
  EXPECT_FALSE(is_compiled_for(MmaInstruction::kWgmma, 100));
}

}  // namespace
}  // namespace sparkbench
