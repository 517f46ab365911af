// Varlen in the Volta kernels on the GPU at hand: bit for bit against the emulated
// machine with the arithmetic that m8n8k4 has there.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "kernels/testing/nightly.h"
#include "kernels/testing/test_packed_gpu.h"

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

INSTANTIATE_TEST_SUITE_P(
    Instances, VoltaPackedGpu,
    testing::Combine(testing::Values("volta-fp16acc", "volta-fp32acc"),
                     testing::ValuesIn(with_nightly<int>({64, 128}, {32, 80, 96, 160, 256})),
                     testing::Values(0.0f, 0.1f)));

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
  for (const bool is_deterministic : {false, true}) {
    const PackedGradients gradients = run_backward(kernel, made, gpu, rows, is_deterministic);
    EXPECT_EQ(count_different(gradients.dv, made.d_o), 0u);
  }
}

}  // namespace
}  // namespace sparkbench
