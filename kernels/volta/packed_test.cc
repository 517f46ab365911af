// Varlen in the Volta kernels, on the emulated V100: each sequence has the bits that it has by
// itself, as the same entry of a batch.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_packed_alone.h"
#include "kernels/testing/test_problems.h"
#include "kernels/varlen/emulated_work_list.h"

namespace sparkbench {
namespace {

/// An accumulator's kernel and a head_dim.
class VoltaPacked : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  const AttentionKernel& kernel_ = *find_attention_kernel(std::get<0>(GetParam()));
  int head_dim_ = std::get<1>(GetParam());
};

TEST_P(VoltaPacked, HasTheBitsOfEachSequenceAlone) {
  expect_alone(kernel_,
               PackedCase(packed_problem(head_dim_, MaskSpec::causal(), 0.1f, 2), kRagged));
}

TEST_P(VoltaPacked, HasThemWithoutMaskAndDropout) {
  expect_alone(kernel_, PackedCase(packed_problem(head_dim_, MaskSpec::full(), 0.0f, 4), kRagged));
}

INSTANTIATE_TEST_SUITE_P(Instances, VoltaPacked,
                         testing::Combine(testing::Values("volta-fp16acc", "volta-fp32acc"),
                                          testing::ValuesIn(with_nightly<int>({64, 128},
                                                                              {24, 88, 160}))));
INSTANTIATE_TEST_SUITE_P(Others, VoltaPacked,
                         testing::ValuesIn(with_nightly<std::tuple<const char*, int>>(
                             {{"volta-fp32acc", 80}, {"volta-fp16acc", 256}},
                             {{"volta-fp16acc", 80}, {"volta-fp32acc", 256}})));

class VoltaPackedMasks : public testing::TestWithParam<MaskSpec> {};

TEST_P(VoltaPackedMasks, AreThoseOfEachSequence) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  expect_alone(kernel, PackedCase(packed_problem(64, GetParam(), 0.0f, 1), kRagged));
}

INSTANTIATE_TEST_SUITE_P(Kinds, VoltaPackedMasks, testing::ValuesIn(kMaskOfEachKind));

TEST(VoltaPackedBits, DependOnNoSchedule) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp16acc");
  const PackedCase made(packed_problem(64, MaskSpec::window(50), 0.5f, 2), kRagged);
  const PackedRows rows = run_forward(kernel, made), again = run_forward(kernel, made, 5);
  EXPECT_TRUE(same_bits(rows.o, again.o));
  EXPECT_EQ(rows.lse, again.lse);
  const PackedGradients first = run_backward(kernel, made, rows, true),
                        second = run_backward(kernel, made, rows, true, 7);
  EXPECT_TRUE(same_bits(first.dq, second.dq));
  EXPECT_TRUE(same_bits(first.dk, second.dk));
  EXPECT_TRUE(same_bits(first.dv, second.dv));
}

TEST(VoltaPackedBits, OfStridedTensorsAreTheSame) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  const PackedCase made(packed_problem(64, MaskSpec::causal(), 0.1f, 4), kRagged);
  const PackedRows want = run_forward(kernel, made);
  // q lies as [heads, total, head_dim].
  std::vector<Half> by_heads(made.inputs.q.size());
  const int heads = made.problem.heads, total = made.problem.seqlen_q;
  for (int row = 0; row < total; ++row) {
    for (int head = 0; head < heads; ++head) {
      std::memcpy(&by_heads[row_offset(0, head, row, heads, total, 64)],
                  &made.inputs.q[row_offset(0, row, head, total, heads, 64)], 64 * sizeof(Half));
    }
  }
  PackedRows rows(made);
  ForwardTensors tensors = made.tensors(rows).all;
  tensors.q = {by_heads.data(), 0, 64, std::int64_t{total} * 64};
  expect_clean_but_for_lists(emulate_packed_forward(kernel, made.problem, made.lengths(), tensors,
                                                    options_of(kernel), {}));
  EXPECT_TRUE(same_bits(rows.o, want.o));
}

TEST(VoltaPacked, OfNoSequenceOrNoRowIsNothing) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  const Problem problem = packed_problem(64, MaskSpec::causal(), 0.1f, 4);
  for (const std::vector<Lengths>& lengths :
       {std::vector<Lengths>{}, {{0, 0}}, {{0, 0}, {0, 0}}, {{3, 0}}, {{0, 3}}}) {
    expect_alone(kernel, PackedCase(problem, lengths));
  }
}

TEST(VoltaPacked, TouchesNothingElseWhateverOffsetsAre) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  PackedCase made(packed_problem(64, MaskSpec::full(), 0.0f, 4), {{30, 40}, {20, 50}, {150, 60}});
  for (const std::vector<int>& offsets :
       {std::vector<int>{0, 900, -5, 200}, {10, 5, 3, 1000}, {-7, -3, 100, 50}}) {
    made.cu_seqlens_q = made.cu_seqlens_k = offsets;
    PackedRows rows(made);
    const EmulationReport report = emulate_packed_forward(
        kernel, made.problem, made.lengths(), made.tensors(rows).all, options_of(kernel), {});
    for (const Finding& finding : report.findings) {
      EXPECT_NE(finding.kind, FindingKind::kOutOfBounds) << finding.message;
    }
  }
}

TEST(VoltaPacked, RefusesWhatIsNotPacked) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  PackedCase made(packed_problem(64, MaskSpec::full(), 0.0f, 4), {{3, 4}});
  PackedRows rows(made);
  made.problem.batch = 2;
  EXPECT_THROW(emulate_packed_forward(kernel, made.problem, made.lengths(), made.tensors(rows).all,
                                      options_of(kernel), {}),
               std::invalid_argument);
}

/// What of a sample is computed, and the counts that it stands for.
class VoltaPackedSample : public testing::Test {
 protected:
  const AttentionKernel& kernel_ = *find_attention_kernel("volta-fp32acc");
  PackedCase made_{packed_problem(64, MaskSpec::causal(), 0.0f, 2),
                   {{300, 300}, {0, 5}, {77, 77}, {130, 130}, {9, 9}}};
};

void expect_near_counts(const EmulationReport& sample, const EmulationReport& whole, double part) {
  const auto of_whole = static_cast<double>(whole.grid_counters.mma());
  EXPECT_TRUE(sample.is_sample);
  EXPECT_LT(sample.counters.mma(), whole.counters.mma());
  EXPECT_NEAR(static_cast<double>(sample.grid_counters.mma()), of_whole, part * of_whole);
}

TEST_F(VoltaPackedSample, OfTilesHasTheBitsOfTheWhole) {
  PackedRows whole(made_), some(made_);
  const EmulationReport of_whole = emulate_packed_forward(
      kernel_, made_.problem, made_.lengths(), made_.tensors(whole).all, options_of(kernel_), {});
  const std::vector<SampleTile> tiles = {{0, 1, 0}, {2, 1, 0}, {0, 3, 4}, {1, 2, 3}};
  const EmulationReport of_some = emulate_packed_forward(
      kernel_, made_.problem, made_.lengths(), made_.tensors(some).all, options_of(kernel_), tiles);
  expect_clean_but_for_lists(of_some);
  expect_near_counts(of_some, of_whole, 0.05);
  for (const auto& [tile, head, sequence] : tiles) {
    const int first = made_.cu_seqlens_q[static_cast<std::size_t>(sequence)] + kSampleRows * tile;
    const std::size_t at = row_offset(0, first, head, 0, made_.problem.heads, 64);
    EXPECT_EQ(std::memcmp(&some.o[at], &whole.o[at], 64 * sizeof(Half)), 0) << sequence;
  }
  EXPECT_EQ(some.o[row_offset(0, 0, 0, 0, made_.problem.heads, 64)].bits, 0x7fff);  // not computed
}

/// At 128 columns a deterministic pass has two blocks of queries for an item of the list.
class VoltaPackedSampleGradients : public testing::TestWithParam<int> {};

TEST_P(VoltaPackedSampleGradients, AreThoseOfTheSequences) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  const int head_dim = GetParam();
  const PackedCase made(packed_problem(head_dim, MaskSpec::causal(), 0.0f, 2),
                        {{300, 300}, {0, 5}, {77, 77}, {130, 130}, {9, 9}});
  const PackedRows rows = run_forward(kernel, made);
  for (const bool is_deterministic : {true, false}) {
    PackedGradients whole(made), some(made);
    const EmulationReport of_whole =
        emulate_packed_backward(kernel, made.problem, made.lengths(), made.tensors(rows, whole),
                                options_of(kernel), is_deterministic, {});
    BackwardSample sample;  // of sequences 0 and 2 the second key head, which heads 2 and 3 read
    for (const int sequence : {0, 2}) {
      for (int t = 0; t < (sequence == 0 ? 3 : 1); ++t) {
        sample.query_tiles.push_back({t, 2, sequence});
        sample.query_tiles.push_back({t, 3, sequence});
        sample.key_tiles.push_back({t, 1, sequence});
      }
    }
    const EmulationReport of_some =
        emulate_packed_backward(kernel, made.problem, made.lengths(), made.tensors(rows, some),
                                options_of(kernel), is_deterministic, sample);
    expect_clean_but_for_lists(of_some);
    expect_near_counts(of_some, of_whole, 0.05);
    for (const int sequence : {0, 2}) {
      const auto i = static_cast<std::size_t>(sequence);
      for (int row = 0; row < made.seqlens[i].seqlen_q; ++row) {
        const std::size_t q = row_offset(0, made.cu_seqlens_q[i] + row, 2, 0, 4, head_dim);
        const std::size_t k = row_offset(0, made.cu_seqlens_k[i] + row, 1, 0, 2, head_dim);
        const std::size_t bytes = static_cast<std::size_t>(head_dim) * sizeof(Half);
        if (is_deterministic) {  // sums of dQ depend on which block adds first
          ASSERT_EQ(std::memcmp(&some.dq[q], &whole.dq[q], 2 * bytes), 0) << sequence;
        }
        ASSERT_EQ(std::memcmp(&some.dk[k], &whole.dk[k], bytes), 0) << sequence << ", " << row;
        ASSERT_EQ(std::memcmp(&some.dv[k], &whole.dv[k], bytes), 0) << sequence << ", " << row;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, VoltaPackedSampleGradients, testing::Values(64, 128));

}  // namespace
}  // namespace sparkbench
