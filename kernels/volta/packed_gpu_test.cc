// Packed sequences in the Volta kernels on the GPU at hand: bit for bit against the emulated
// machine with the arithmetic that m8n8k4 has there.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "kernels/testing/test_packed_gpu.h"
#include "kernels/volta/backward/relay_plan.h"

namespace sparkbench {
namespace {

class VoltaPackedGpu : public testing::TestWithParam<std::tuple<const char*, int, float>> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  }
  PackedCase make(const MaskSpec& mask) const {
    return PackedCase({.heads = 4,
                       .head_dim = std::get<1>(GetParam()),
                       .mask = mask,
                       .dropout_p = std::get<2>(GetParam()),
                       .seed = 3,
                       .heads_k = 2},
                      ragged_lengths());
  }
  const AttentionKernel& kernel_ = *find_attention_kernel(std::get<0>(GetParam()));
};

TEST_P(VoltaPackedGpu, HasTheEmulatedMachinesBits) {
  for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100)}) {
    SCOPED_TRACE(name_of(mask));
    expect_emulated_bits(kernel_, make(mask), {.profile = &native_profile()});
  }
}

INSTANTIATE_TEST_SUITE_P(Instances, VoltaPackedGpu,
                         testing::Combine(testing::Values("volta-fp16acc", "volta-fp32acc"),
                                          testing::Values(32, 64, 80, 96, 128, 160, 256),
                                          testing::Values(0.0f, 0.1f)));

/// Of 128 columns dQ's last bits depend on which of two warps comes first.
TEST(VoltaPackedRelayGpu, HasDqsEmulatedBits) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  std::size_t compared = 0;
  for (const char* const name : {"volta-fp16acc", "volta-fp32acc"}) {
    const AttentionKernel& kernel = *find_attention_kernel(name);
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100)}) {
      for (const auto& [head_dim, dropout_p] : {std::pair(64, 0.0f), {40, 0.1f}, {128, 0.0f}}) {
        SCOPED_TRACE(testing::Message() << name << ", " << name_of(mask) << ", d" << head_dim);
        const PackedCase made({.heads = 4,
                               .head_dim = head_dim,
                               .mask = mask,
                               .dropout_p = dropout_p,
                               .seed = 3,
                               .heads_k = 2},
                              ragged_lengths());
        ASSERT_TRUE(volta::has_packed_relay(made.problem, made.batch(), false));
        const OnGpu gpu(made);
        const PackedRows rows = run_forward(kernel, made, gpu);
        PackedGradients want(made);
        kernel.packed.emulate_backward(made.problem, made.lengths(), made.tensors(rows, want),
                                       {.profile = &native_profile()}, false, {});
        for (int run = 0; run < 4; ++run) {
          const PackedGradients got = run_backward(kernel, made, gpu, rows, false);
          if (volta::has_ordered_sums(head_dim)) {
            EXPECT_EQ(count_different(got.dq, want.dq), 0u);
            compared += got.dq.size();
          }
          EXPECT_EQ(count_different(got.dk, want.dk), 0u);
          EXPECT_EQ(count_different(got.dv, want.dv), 0u);
          compared += got.dk.size() + got.dv.size();
        }
      }
    }
  }
  std::cout << compared << " elements compared\n";
}

/// A workspace that still has the list of another launch, and sequences more than one axis of a
/// grid holds.
TEST(VoltaPackedGpuLists, HoldMoreSequencesThanAnAxis) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  const PackedCase made({.heads = 1, .head_dim = 64},
                        std::vector<Lengths>(static_cast<std::size_t>(70000), {1, 1}));
  const OnGpu gpu(made);
  const PackedRows rows = run_forward(kernel, made, gpu);
  EXPECT_EQ(count_different(rows.o, made.inputs.v), 0u);  // one key has all of the weight
  ASSERT_TRUE(volta::has_packed_relay(made.problem, made.batch(), false));
  for (const bool is_deterministic : {false, true}) {
    const PackedGradients gradients = run_backward(kernel, made, gpu, rows, is_deterministic);
    EXPECT_EQ(count_different(gradients.dv, made.d_o), 0u);
  }
}

}  // namespace
}  // namespace sparkbench
