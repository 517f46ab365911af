// Varlen in the Hopper kernels on the GPU at hand: bit for bit against the emulated
// machine.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "kernels/hopper/test_gpu.h"
#include "kernels/testing/test_options.h"
#include "kernels/testing/test_packed_gpu.h"

namespace sparkbench {
namespace {

class HopperPackedGpu : public hopper::OnHopper<std::tuple<int, float>> {
 protected:
  const AttentionKernel& kernel_ = *find_attention_kernel("hopper-fp32acc");
};

TEST_P(HopperPackedGpu, HasTheEmulatedMachinesBits) {
  EmulationOptions options = options_of(kernel_);
  options.detect = options.count = false;
  for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100)}) {
    SCOPED_TRACE(name_of(mask));
    const PackedCase made({.heads = 4,
                           .head_dim = std::get<0>(GetParam()),
                           .mask = mask,
                           .dropout_p = std::get<1>(GetParam()),
                           .seed = 3,
                           .heads_k = 2},
                          ragged_lengths());
    expect_emulated_bits(kernel_, made, options);
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperPackedGpu,
                         testing::Combine(testing::Values(24, 64, 80, 96, 128, 160, 256),
                                          testing::Values(0.0f, 0.1f)));

}  // namespace
}  // namespace sparkbench
