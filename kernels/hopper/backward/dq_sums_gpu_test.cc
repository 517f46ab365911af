// dQ's sums of the Hopper backward kernels on a GPU: dK and dV bit for bit those of the kernels
// without dQ, dQ equal except for the order of its sums.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/hopper/backward/test_dq_forms_gpu.h"
#include "kernels/hopper/test_gpu.h"
#include "kernels/testing/test_packed_gpu.h"
#include "reference/gradient_errors.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench::hopper {
namespace {

using hopper::run;
Gradients run(const PackedCase& made, const OnGpu& gpu, const PackedRows& rows, DqForm dq) {
  const Problem& packed = made.problem;
  return run(packed, gpu.q, gpu.k, gpu.v, upload(rows.o), gpu.d_o, upload(rows.lse),
             [&](const BackwardTensors& tensors, Workspace& workspace) {
               const PackedLengths lengths = gpu.lengths();
               PlanRequest request = for_current_gpu(backward_request(packed, tensors, false));
               request.lengths = &lengths;
               return varlen_backward_plan(request, dq, workspace);
             });
}

void expect_same_but_for_order(const Gradients& summed, const Gradients& alone) {
  EXPECT_TRUE(same_bits(summed.dk, alone.dk));
  EXPECT_TRUE(same_bits(summed.dv, alone.dv));
  ASSERT_EQ(summed.dq.size(), alone.dq.size());
  float largest = 0.0f, difference = 0.0f;
  for (std::size_t i = 0; i < alone.dq.size(); ++i) {
    const float want = to_float(alone.dq[i]), got = to_float(summed.dq[i]);
    ASSERT_FALSE(std::isnan(got)) << i;
    largest = std::max(largest, std::fabs(want));
    difference = std::max(difference, std::fabs(got - want));
  }
  EXPECT_LE(difference, largest / 512.0f);
}

class HopperDqSumsGpu : public OnHopper<int> {};

TEST_P(HopperDqSumsGpu, AreThoseOfTheDefinition) {
  for (const Lengths& lengths : {Lengths{1, 1}, {129, 200}, {500, 193}}) {
    for_every_mask_and_dropout(GetParam(), lengths, {0.0f, 0.1f}, [](const Problem& problem) {
      const Case made = make_case(problem);
      const Gradients summed = run(made, DqForm::kSummed);
      expect_same_but_for_order(summed, run(made, DqForm::kAlone));
      const GradientRows rows = all_gradient_rows(problem);
      const ExactGradients want = exact_backward(problem, made.view(), rows);
      const HalfGradients unfused = unfused_backward(
          problem, made.view(), rows, {arithmetic_profile("hopper"), Accumulator::kFp32});
      EXPECT_EQ(why_incorrect(
                    gradient_errors(
                        gather_gradients(problem, {summed.dq, summed.dk, summed.dv}, rows), want),
                    gradient_errors(unfused, want), {}),
                "");
    });
  }
}

/// Every SM has several items, and all of them add to the same sums.
TEST_P(HopperDqSumsGpu, AreThoseOfDqAloneWhereManyBlocksAdd) {
  for (const auto& [mask, dropout] :
       {std::pair{MaskSpec::full(), 0.0f}, {MaskSpec::causal(), 0.1f}}) {
    const Problem problem{.batch = 2,
                          .heads = 16,
                          .seqlen_q = 2500,
                          .seqlen_k = 3000,
                          .head_dim = GetParam(),
                          .mask = mask,
                          .dropout_p = dropout,
                          .seed = 3,
                          .heads_k = 4};
    OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
    RoundedForward forward{std::vector<Half>(problem.q_elements()),
                           std::vector<float>(problem.lse_elements(), 8.0f)};
    const Case made{problem, std::move(inputs),
                    make_gradient_input(problem, Distribution::kNormal, 7), std::move(forward)};
    expect_same_but_for_order(run(made, DqForm::kSummed), run(made, DqForm::kAlone));
  }
}

TEST_P(HopperDqSumsGpu, AreThoseOfEachPackedSequence) {
  for (const auto& [mask, dropout] :
       {std::pair{MaskSpec::full(), 0.0f}, {MaskSpec::causal(), 0.1f}}) {
    const PackedCase made({.heads = 4,
                           .head_dim = GetParam(),
                           .mask = mask,
                           .dropout_p = dropout,
                           .seed = 3,
                           .heads_k = 2},
                          ragged_lengths());
    const OnGpu gpu(made);
    const PackedRows rows = run_forward(*find_attention_kernel("hopper-fp32acc"), made, gpu);
    expect_same_but_for_order(run(made, gpu, rows, DqForm::kSummed),
                              run(made, gpu, rows, DqForm::kAlone));
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperDqSumsGpu, testing::Values(24, 64, 80, 96, 128));

}  // namespace
}  // namespace sparkbench::hopper
