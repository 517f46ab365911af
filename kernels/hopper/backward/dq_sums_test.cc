// dQ's sums of the Hopper backward kernels on the emulated H100, against the dQ kernel, which has
// one order of its sums.
#include "kernels/hopper/backward/dq_sums.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/hopper/backward/test_dq_forms.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_problems.h"

namespace sparkbench::hopper {
namespace {

void expect_same_but_for_order(const Gradients& summed, const Gradients& alone) {
  EXPECT_TRUE(same_bits(summed.dk, alone.dk));
  EXPECT_TRUE(same_bits(summed.dv, alone.dv));
  expect_near(summed.dq, alone.dq);
}

/// Compared with the dQ kernel, which backward_test.cc compares with the definition.
class HopperDqSums : public testing::TestWithParam<std::tuple<int, Lengths>> {};

TEST_P(HopperDqSums, AreThoseOfDqAloneForEveryMaskAndDropout) {
  const auto [head_dim, lengths] = GetParam();
  for_every_mask_and_some_dropout(head_dim, lengths, [](const Problem& problem) {
    const Case made = make_case(problem);
    expect_same_but_for_order(run(made, DqForm::kSummed), run(made, DqForm::kAlone));
  });
}

INSTANTIATE_TEST_SUITE_P(Lengths, HopperDqSums,
                         testing::Combine(testing::Values(64, 128),
                                          testing::Values(Lengths{1, 1}, Lengths{129, 128},
                                                          Lengths{2, 257})));
INSTANTIATE_TEST_SUITE_P(HeadDims, HopperDqSums,
                         testing::Combine(testing::ValuesIn(with_nightly<int>({80},
                                                                              {8, 40, 96, 120})),
                                          testing::Values(Lengths{150, 140})));

/// Blocks do several items, of heads that share keys; only the order in which blocks add differs.
TEST(HopperDqSumsOfGroups, AreThoseOfEachScheduleButForOrder) {
  for (const int head_dim : with_nightly<int>({64, 128}, {96})) {
    const Case made = make_case({.batch = 2,
                                 .heads = 4,
                                 .seqlen_q = 330,
                                 .seqlen_k = 390,
                                 .head_dim = head_dim,
                                 .mask = MaskSpec::causal(),
                                 .dropout_p = 0.1f,
                                 .seed = 5,
                                 .heads_k = 2});
    const Gradients alone = run(made, DqForm::kAlone);
    for (const std::uint64_t seed : with_nightly<std::uint64_t>({0, 1}, {2, 3})) {
      SCOPED_TRACE(seed);
      expect_same_but_for_order(run(made, DqForm::kSummed, seed), alone);
    }
  }
}

TEST(HopperDqSumsOfSamples, AreThoseOfTheWhole) {
  const Case made = make_case({.heads = 4,
                               .seqlen_q = 400,
                               .seqlen_k = 420,
                               .head_dim = 64,
                               .mask = MaskSpec::window(90),
                               .dropout_p = 0.2f,
                               .seed = 5,
                               .heads_k = 2});
  const Gradients whole = run(made, DqForm::kAlone);
  // Two heads of one group, and the same rows: neither may be added twice.
  const Gradients some =
      run(made, DqForm::kSummed, 0, {{{1, 2, 0}, {1, 3, 0}, {3, 0, 0}}, {{2, 1, 0}}});
  const auto rows_of = [&](const std::vector<Half>& tensor, int head, int first, int end) {
    std::vector<Half> rows;
    for (int row = first; row < end; ++row) {
      const Half* const at = &tensor[row_offset(0, row, head, 400, 4, 64)];
      rows.insert(rows.end(), at, at + 64);
    }
    return rows;
  };
  for (const auto& [head, first, end] : {std::tuple{2, 128, 256}, {3, 128, 256}, {0, 384, 400}}) {
    expect_near(rows_of(some.dq, head, first, end), rows_of(whole.dq, head, first, end));
  }
  for (int key = 2 * kSampleRows; key < 3 * kSampleRows; ++key) {
    const std::size_t at = row_offset(0, key, 1, 420, 2, 64);
    EXPECT_EQ(std::memcmp(&some.dk[at], &whole.dk[at], 64 * sizeof(Half)), 0) << key;
    EXPECT_EQ(std::memcmp(&some.dv[at], &whole.dv[at], 64 * sizeof(Half)), 0) << key;
  }
  EXPECT_EQ(some.dq[row_offset(0, 0, 0, 400, 4, 64)].bits, kPoison.bits);
}

EmulationReport emulate(const PackedCase& made, const PackedRows& rows, DqForm dq,
                        PackedGradients& gradients) {
  const BackwardTensors tensors = made.tensors(rows, gradients);
  const PackedLengths lengths = made.lengths();
  const EmulationOptions options = options_of(kernel());
  PlanRequest request =
      for_emulated_device(backward_request(made.problem, tensors, false), options);
  request.lengths = &lengths;
  return emulate_backward(request, options, dq, {});
}

PackedGradients run(const PackedCase& made, const PackedRows& rows, DqForm dq) {
  PackedGradients gradients(made);
  expect_clean_but_for_lists(emulate(made, rows, dq, gradients));
  return gradients;
}

class HopperPackedDqSums : public testing::TestWithParam<int> {};

TEST_P(HopperPackedDqSums, AreThoseOfEachSequence) {
  for (const auto& [mask, dropout] :
       {std::pair{MaskSpec::causal(), 0.1f}, {MaskSpec::full(), 0.0f}}) {
    const PackedCase made(packed_problem(GetParam(), mask, dropout, 2), kRagged);
    const PackedRows rows = run_forward(kernel(), made);
    const PackedGradients summed = run(made, rows, DqForm::kSummed),
                          alone = run(made, rows, DqForm::kAlone);
    EXPECT_TRUE(same_bits(summed.dk, alone.dk));
    EXPECT_TRUE(same_bits(summed.dv, alone.dv));
    expect_near(summed.dq, alone.dq);
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperPackedDqSums,
                         testing::ValuesIn(with_nightly<int>({64, 128}, {24, 80})));

TEST(HopperPackedDqSums, ReadNoOtherSequence) {
  PackedCase made(packed_problem(64, MaskSpec::full(), 0.0f, 4), {{70, 90}, {40, 30}, {3, 200}});
  const PackedRows want = run_forward(kernel(), made);
  const PackedGradients gradients = run(made, want, DqForm::kSummed);
  const auto nan_from = [](std::vector<Half>& tensor, int row, int rows) {
    for (int i = row * 4 * 64; i < (row + rows) * 4 * 64; ++i) {
      tensor[static_cast<std::size_t>(i)].bits = 0x7e00;
    }
  };
  nan_from(made.inputs.q, 70, 40);
  nan_from(made.inputs.k, 90, 30);
  nan_from(made.inputs.v, 90, 30);
  nan_from(made.d_o, 70, 40);
  const PackedGradients got = run(made, run_forward(kernel(), made), DqForm::kSummed);
  for (const int sequence : {0, 2}) expect_same_gradients(made, sequence, got, gradients, false);
  for (const int row : {0, 69, 110, 112}) {
    EXPECT_TRUE(made.same_query(got.dq, gradients.dq, row)) << row;
  }
}

TEST(HopperPackedDqSums, TouchNothingElseWhateverOffsetsAre) {
  PackedCase made(packed_problem(64, MaskSpec::full(), 0.0f, 4), {{30, 40}, {20, 50}, {150, 60}});
  const PackedRows rows = run_forward(kernel(), made);
  for (const std::vector<int>& offsets :
       {std::vector<int>{0, 900, -5, 200}, {10, 5, 3, 1000}, {-7, -3, 100, 50}}) {
    made.cu_seqlens_q = made.cu_seqlens_k = offsets;
    PackedGradients gradients(made);
    const EmulationReport report = emulate(made, rows, DqForm::kSummed, gradients);
    for (const Finding& finding : report.findings) {
      EXPECT_NE(finding.kind, FindingKind::kOutOfBounds) << finding.message;
    }
  }
}

TEST(HopperDqForm, IsOfSumsWhereRowsSeeManyKeys) {
  const Problem causal{
      .heads = 2, .seqlen_q = 8192, .seqlen_k = 8192, .head_dim = 128, .mask = MaskSpec::causal()};
  EXPECT_EQ(dq_form(causal, false), DqForm::kSummed);
  EXPECT_EQ(dq_form(causal, true), DqForm::kAlone);
  Problem other = causal;
  other.mask = MaskSpec::window(512);
  EXPECT_EQ(dq_form(other, false), DqForm::kAlone);
  other = causal;
  other.head_dim = 136;
  EXPECT_EQ(dq_form(other, false), DqForm::kAlone);
  other = causal;
  other.head_dim = 64;
  other.seqlen_q = other.seqlen_k = 2048;  // a row sees 1024
  EXPECT_EQ(dq_form(other, false), DqForm::kAlone);
  other.dropout_p = 0.1f;
  EXPECT_EQ(dq_form(other, false), DqForm::kSummed);
  EXPECT_EQ(packed_dq_form(causal, 2, false), DqForm::kSummed);
  EXPECT_EQ(packed_dq_form(causal, 8, false), DqForm::kAlone);
  EXPECT_EQ(packed_dq_form(causal, 0, false), DqForm::kSummed);
}

}  // namespace
}  // namespace sparkbench::hopper
