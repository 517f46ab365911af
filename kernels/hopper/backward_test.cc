// The Hopper backward kernels on the emulated H100, against the definition.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "kernels/hopper/backward/test_gradients.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_problems.h"
#include "kernels/testing/test_sparse_checks.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

constexpr Half kGradientPoison{0x7fff};

struct Outputs {
  std::vector<Half> dq, dk, dv;
  EmulationReport report;
};

Outputs run_emulated(const Case& made, std::uint64_t schedule_seed = 0,
                     const BackwardSample& sample = {}) {
  const AttentionKernel& kernel = *find_attention_kernel("hopper-fp32acc");
  Outputs outputs{std::vector<Half>(made.problem.q_elements(), kGradientPoison),
                  std::vector<Half>(made.problem.k_elements(), kGradientPoison),
                  std::vector<Half>(made.problem.k_elements(), kGradientPoison),
                  {}};
  EmulationOptions options = options_of(kernel);
  options.schedule_seed = schedule_seed;
  outputs.report =
      emulate_backward(kernel, made.problem,
                       contiguous_tensors(made.problem, made.inputs.q.data(), made.inputs.k.data(),
                                          made.inputs.v.data(), made.forward.o.data(),
                                          made.d_o.data(), made.forward.lse.data(),
                                          outputs.dq.data(), outputs.dk.data(), outputs.dv.data()),
                       options, false, sample);
  return outputs;
}

class HopperBackward : public testing::TestWithParam<std::tuple<int, Lengths>> {};

TEST_P(HopperBackward, MatchesTheDefinitionForEveryMaskAndDropout) {
  const auto [head_dim, lengths] = GetParam();
  for_every_mask_and_some_dropout(head_dim, lengths, [](const Problem& problem) {
    const Case made = make_case(problem);
    const Outputs outputs = run_emulated(made);
    expect_clean(outputs.report);
    const GradientRows rows = all_gradient_rows(problem);
    const ExactGradients want = exact_backward(problem, made.view(), rows);
    const HalfGradients unfused = unfused_backward(
        problem, made.view(), rows, {arithmetic_profile("hopper"), Accumulator::kFp32});
    const GradientErrors error = gradient_errors(
        gather_gradients(problem, {outputs.dq, outputs.dk, outputs.dv}, rows), want);
    EXPECT_EQ(why_incorrect(error, gradient_errors(unfused, want), {}), "")
        << "rel_l2 dq " << error.dq.rel_l2 << ", dk " << error.dk.rel_l2 << ", dv "
        << error.dv.rel_l2;
  });
}

INSTANTIATE_TEST_SUITE_P(Lengths, HopperBackward,
                         testing::Combine(testing::Values(64, 128),
                                          testing::ValuesIn(with_nightly<Lengths>(
                                              {{1, 1}, {65, 193}, {2, 257}, {263, 263}},
                                              {{63, 191}, {64, 128}}))));
INSTANTIATE_TEST_SUITE_P(HeadDims, HopperBackward,
                         testing::Combine(testing::ValuesIn(with_nightly<int>(
                                              {80, 256}, {8, 32, 40, 72, 88, 96, 120, 136})),
                                          testing::Values(Lengths{129, 70})));

/// Gradients of keys are sums over the heads of their group, and no order of threads changes them.
TEST(HopperBackwardBits, DoNotDependOnTheThreadSchedule) {
  for (const int head_dim : {64, 128, 256}) {
    const Case made = make_case({.heads = 4,
                                 .seqlen_q = 300,
                                 .seqlen_k = 390,
                                 .head_dim = head_dim,
                                 .mask = MaskSpec::causal(),
                                 .dropout_p = 0.1f,
                                 .seed = 5,
                                 .heads_k = 2});
    const Outputs first = run_emulated(made);
    expect_clean(first.report);
    for (const std::uint64_t seed : with_nightly<std::uint64_t>({1}, {2, 3})) {
      const Outputs other = run_emulated(made, seed);
      expect_clean(other.report);
      const auto same = [](const std::vector<Half>& a, const std::vector<Half>& b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(Half)) == 0;
      };
      EXPECT_TRUE(same(first.dq, other.dq)) << head_dim << ", seed " << seed;
      EXPECT_TRUE(same(first.dk, other.dk)) << head_dim << ", seed " << seed;
      EXPECT_TRUE(same(first.dv, other.dv)) << head_dim << ", seed " << seed;
    }
  }
}

TEST(HopperBackwardSample, HasTheBitsOfTheWhole) {
  const Case made = make_case({.heads = 4,
                               .seqlen_q = 400,
                               .seqlen_k = 420,
                               .head_dim = 64,
                               .mask = MaskSpec::window(90),
                               .dropout_p = 0.2f,
                               .seed = 5,
                               .heads_k = 2});
  const Outputs whole = run_emulated(made);
  const Outputs some = run_emulated(made, 0, {{{1, 3, 0}}, {{2, 1, 0}}});
  for (int row = kSampleRows; row < 2 * kSampleRows; ++row) {
    const std::size_t at = row_offset(0, row, 3, 400, 4, 64);
    EXPECT_EQ(std::memcmp(&some.dq[at], &whole.dq[at], 64 * sizeof(Half)), 0) << row;
  }
  for (int key = 2 * kSampleRows; key < 3 * kSampleRows; ++key) {
    const std::size_t at = row_offset(0, key, 1, 420, 2, 64);
    EXPECT_EQ(std::memcmp(&some.dk[at], &whole.dk[at], 64 * sizeof(Half)), 0) << key;
    EXPECT_EQ(std::memcmp(&some.dv[at], &whole.dv[at], 64 * sizeof(Half)), 0) << key;
  }
  EXPECT_EQ(some.dq[row_offset(0, 0, 0, 400, 4, 64)].bits, kGradientPoison.bits);
}

}  // namespace
}  // namespace sparkbench
