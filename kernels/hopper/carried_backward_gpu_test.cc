// dQ carried from block to block on a GPU: bit for bit dQ formed alone, and dK and dV with it.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/hopper/dq_form.h"
#include "kernels/hopper/test_dq_forms_gpu.h"

namespace sparkbench::hopper {
namespace {

class HopperCarriedBackwardGpu : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
    if (!has_native(MmaInstruction::kWgmma)) GTEST_SKIP() << "no CUDA device with wgmma";
  }

  /// So many times, where there is a kernel.
  static void expect_bits_of_alone(const Problem& problem, int times) {
    if (!visit_backward_carried(problem, [](auto, auto) {})) return;
    SCOPED_TRACE(testing::Message() << problem.seqlen_q << " tokens, " << name_of(problem.mask)
                                    << ", dropout " << problem.dropout_p);
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
};

TEST_P(HopperCarriedBackwardGpu, HasTheBitsOfDqAlone) {
  for (const int seqlen : {1, 65, 500, 4100}) {
    for (const MaskSpec& mask :
         {MaskSpec::window(1), MaskSpec::window(64), MaskSpec::window(128), MaskSpec::window(256),
          MaskSpec::band(64, 64), MaskSpec::band(17, 3), MaskSpec::band(0, 100)}) {
      for (const float dropout_p : {0.0f, 0.17f}) {
        expect_bits_of_alone({.batch = 2,
                              .heads = 12,
                              .seqlen_q = seqlen,
                              .seqlen_k = seqlen,
                              .head_dim = GetParam(),
                              .mask = mask,
                              .dropout_p = dropout_p,
                              .seed = 3},
                             seqlen > 4000 ? 3 : 1);
      }
    }
  }
}

TEST_P(HopperCarriedBackwardGpu, HasTheBitsOfDqAloneInShortSequences) {
  for (const int seqlen : {65, 128, 256}) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal()}) {
      for (const float dropout_p : {0.0f, 0.17f}) {
        expect_bits_of_alone({.batch = 40,
                              .heads = 12,
                              .seqlen_q = seqlen,
                              .seqlen_k = seqlen,
                              .head_dim = GetParam(),
                              .mask = mask,
                              .dropout_p = dropout_p,
                              .seed = 3},
                             2);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperCarriedBackwardGpu, testing::Values(24, 64, 80, 96, 128));

}  // namespace
}  // namespace sparkbench::hopper
