// The fused kernel's dQ on a GPU: bit for bit that of the dQ kernel, and dK and dV with it.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/hopper/backward/test_dq_forms_gpu.h"
#include "kernels/hopper/dq_form.h"
#include "kernels/hopper/test_gpu.h"

namespace sparkbench::hopper {
namespace {

class HopperCarriedBackwardGpu : public OnHopper<int> {
 protected:
  /// Runs a problem with the test's head_dim `times` times, with dropout and without.
  static void expect_bits_of_alone(int batch, int seqlen, const MaskSpec& mask, int times) {
    for (const float dropout_p : {0.0f, 0.17f}) {
      SCOPED_TRACE(testing::Message()
                   << seqlen << " tokens, " << name_of(mask) << ", dropout " << dropout_p);
      const Problem problem{.batch = batch,
                            .heads = 12,
                            .seqlen_q = seqlen,
                            .seqlen_k = seqlen,
                            .head_dim = GetParam(),
                            .mask = mask,
                            .dropout_p = dropout_p,
                            .seed = 3};
      ASSERT_NE(find_carried(problem), nullptr);
      const Case made = {problem,
                         make_inputs(problem, Distribution::kNormal, 7),
                         make_gradient_input(problem, Distribution::kNormal, 7),
                         {std::vector<Half>(problem.q_elements()),
                          std::vector<float>(problem.lse_elements(), 8.0f)}};
      const Gradients alone = run(made, DqForm::kAlone);
      for (int i = 0; i < times; ++i) {
        const Gradients carried = run(made, DqForm::kCarried);
        EXPECT_TRUE(same_bits(carried.dq, alone.dq));
        EXPECT_TRUE(same_bits(carried.dk, alone.dk));
        EXPECT_TRUE(same_bits(carried.dv, alone.dv));
      }
    }
  }
};

TEST_P(HopperCarriedBackwardGpu, HasTheBitsOfDqAlone) {
  std::vector<MaskSpec> masks{MaskSpec::window(1),   MaskSpec::window(64),
                              MaskSpec::window(128), MaskSpec::band(64, 64),
                              MaskSpec::band(17, 3), MaskSpec::band(0, 100)};
  if (GetParam() <= 64) masks.push_back(MaskSpec::window(256));
  for (const int seqlen : {1, 65, 500, 4100}) {
    for (const MaskSpec& mask : masks) {
      expect_bits_of_alone(2, seqlen, mask, seqlen > 4000 ? 3 : 1);
    }
  }
}

TEST_P(HopperCarriedBackwardGpu, HasTheBitsOfDqAloneInShortSequences) {
  for (const int seqlen : {65, 128, 256}) {
    if (seqlen > 128 && GetParam() > 64) continue;
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal()}) {
      expect_bits_of_alone(40, seqlen, mask, 2);
    }
  }
}

TEST_P(HopperCarriedBackwardGpu, HasTheBitsOfDqAloneInStrictBands) {
  for (const int seqlen : {66, 500, 4100}) {
    for (const MaskSpec& mask : {MaskSpec::band(70, -1), MaskSpec::band(128, -1)}) {
      expect_bits_of_alone(2, seqlen, mask, 2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperCarriedBackwardGpu, testing::Values(24, 64, 80, 96, 128));

}  // namespace
}  // namespace sparkbench::hopper
