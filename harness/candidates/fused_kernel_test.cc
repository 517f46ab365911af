#include "harness/candidates/fused_kernel.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/problem/sequence_lengths.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

constexpr KernelDevice kV100{70, 96 << 10, true}, kH100{90, 227 << 10, true};

const AttentionKernel& kernel_named(std::string_view name) { return *find_attention_kernel(name); }

/// A kernel for later GPUs.
AttentionKernel ampere_kernel() {
  AttentionKernel kernel = kernel_named("volta-fp32acc");
  kernel.name = "ampere";
  kernel.instruction = MmaInstruction::kM16n8k16;
  return kernel;
}

TEST(FusedKernel, PassesOnWhatItsKernelLacks) {
  AttentionKernel forward_alone = kernel_named("volta-fp16acc");
  forward_alone.name = "forward-alone";
  forward_alone.is_forward_only = true;
  const FusedKernel kernel(forward_alone, kV100);
  Problem problem;
  EXPECT_TRUE(kernel.supports(problem, Pass::kForward));
  EXPECT_EQ(kernel.supports(problem, Pass::kBackward).why_not,
            "forward-alone has no backward pass");
  problem.head_dim = 264;
  EXPECT_EQ(kernel.supports(problem, Pass::kForward).why_not,
            "forward-alone does not support head_dim 264 (multiples of 8 up to 256 are "
            "supported)");
}

TEST(FusedKernel, IsDeclinedByADeviceWithoutItsInstruction) {
  const AttentionKernel ampere = ampere_kernel();
  EXPECT_EQ(FusedKernel(ampere, kV100).supports({}, Pass::kForward).why_not,
            "ampere needs m16n8k16, which compute capability 7.0 does not have; --device "
            "emulated-a100 has");
  EXPECT_TRUE(FusedKernel(ampere, kH100).supports({}, Pass::kForward));
}

TEST(FusedKernel, RunsUnnamedWhereTheDeviceHasItsInstruction) {
  const AttentionKernel& hopper = kernel_named("hopper-fp32acc");
  EXPECT_TRUE(FusedKernel(hopper, kH100).runs_unnamed());
  EXPECT_FALSE(FusedKernel(hopper, kV100).runs_unnamed());
  EXPECT_EQ(FusedKernel(hopper, kV100).supports({}, Pass::kForward).why_not,
            "hopper-fp32acc needs wgmma, which compute capability 7.0 does not have; --device "
            "emulated-h100 has");
  EXPECT_EQ(FusedKernel(hopper, {100, 227 << 10}).supports({}, Pass::kForward).why_not,
            "hopper-fp32acc needs wgmma, which compute capability 10.0 does not have; --device "
            "emulated-h100 has");
  EXPECT_TRUE(FusedKernel(kernel_named("volta-fp32acc"), kH100).runs_unnamed());
  EXPECT_FALSE(FusedKernel(kernel_named("acsr-unfused"), kV100).runs_unnamed());
}

TEST(FusedKernel, MayHaveNoPackedSequences) {
  const FusedKernel kernel(kernel_named("acsr-unfused"), kV100);
  Problem problem{.batch = 2};
  problem.lengths =
      std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{{3, 5}, {1, 2}});
  EXPECT_EQ(kernel.supports(problem, Pass::kForward).why_not,
            "acsr-unfused does not support sequences of several lengths");
  EXPECT_EQ(kernel.workspace_bytes(problem, Pass::kForwardBackward, false), 0u);
}

TEST(FusedKernel, HasAMasksTablesInItsWorkspace) {
  const FusedKernel kernel(kernel_named("acsr-unfused"), kV100);
  Problem problem{.heads = 4, .seqlen_q = 128, .seqlen_k = 64, .head_dim = 64};
  const std::uint64_t values = 4 * 128 * 64 * 2, rows = 128 * 16, blocks = 32, keys = 32;
  EXPECT_EQ(kernel.workspace_bytes(problem, Pass::kForward, false), values + rows + blocks);
  EXPECT_EQ(kernel.workspace_bytes(problem, Pass::kForwardBackward, false),
            2 * values + rows + blocks + keys);
  problem.sparse = make_sparse_mask("sink:2+window:4", 128, 64);
  EXPECT_EQ(kernel.workspace_bytes(problem, Pass::kForward, false), 0u);
}

TEST(FusedKernel, IsDeclinedByAGpuItCannotUse) {
  AttentionKernel emulated = kernel_named("volta-fp32acc");
  emulated.supports = [](const Problem&, const KernelDevice&, bool) { return Support{}; };
  emulated.has_gpu_code = false;
  EXPECT_EQ(FusedKernel(emulated, {70, 96 << 10, false}).supports({}, Pass::kForward).why_not,
            "volta-fp32acc runs on emulated devices only");
}

TEST(FusedKernel, HasTheArithmeticOfItsOwnInstruction) {
  const AttentionKernel ampere = ampere_kernel();
  EXPECT_EQ(FusedKernel(ampere, kH100).arithmetic().name, "hopper");
  EXPECT_EQ(FusedKernel(kernel_named("volta-fp32acc"), kH100).arithmetic().name, "fma884");
  EXPECT_EQ(FusedKernel(kernel_named("volta-fp32acc"), kV100).arithmetic().name, "volta");
  EXPECT_THROW(FusedKernel(ampere, kV100).arithmetic(), std::logic_error);
}

TEST(FusedKernel, HasNoTimeWithoutTensorCores) {
  const AttentionKernel& volta = kernel_named("volta-fp32acc");
  EXPECT_FALSE(FusedKernel(volta, kV100).why_time_is_invalid());
  const auto warning = FusedKernel(volta, kH100).why_time_is_invalid();
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->code, "W-MMA884-EMULATED");
  EXPECT_EQ(warning->message,
            "m8n8k4 runs on the CUDA cores from compute capability 8.0 on: this time says nothing "
            "about the kernel");
  const AttentionKernel ampere = ampere_kernel();
  EXPECT_FALSE(FusedKernel(ampere, kH100).why_time_is_invalid());
  EXPECT_FALSE(FusedKernel(kernel_named("hopper-fp32acc"), kH100).why_time_is_invalid());
}

}  // namespace
}  // namespace sparkbench
