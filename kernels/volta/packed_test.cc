// Packed sequences of any lengths in the Volta kernels, on the emulated V100: each has the bits
// that it has alone, as that entry of a batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/volta/test_packed.h"

namespace sparkbench {
namespace {

/// Both sides empty, keys alone, queries alone, one key, one query, several blocks of either, and
/// empty ones again at the end.
const std::vector<Lengths> kRagged = {{0, 0},    {77, 150}, {0, 20}, {19, 0}, {40, 1}, {1, 65},
                                      {300, 70}, {0, 0},    {5, 5},  {33, 0}, {0, 9}};

EmulationOptions options_of(std::uint64_t schedule_seed = 0) {
  return {.profile = &arithmetic_profile("volta"), .schedule_seed = schedule_seed};
}

/// Where the threads that list blocks run out of step, which they do in no natural order, they may
/// meet in a bank.
void expect_clean(const EmulationReport& report) {
  EXPECT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
  for (const SiteCounters& site : report.sites) {
    if (site.file.find("list_blocks.h") != std::string::npos) continue;
    EXPECT_EQ(site.bank_conflicts, 0u) << site.file << ":" << site.line;
  }
}

PackedRows run_forward(const AttentionKernel& kernel, const PackedCase& made,
                       std::uint64_t schedule_seed = 0) {
  PackedRows rows(made);
  expect_clean(kernel.packed.emulate_forward(made.problem, made.lengths(), made.tensors(rows),
                                             options_of(schedule_seed), {}));
  return rows;
}

PackedGradients run_backward(const AttentionKernel& kernel, const PackedCase& made,
                             const PackedRows& rows, bool is_deterministic,
                             std::uint64_t schedule_seed = 0) {
  PackedGradients gradients(made);
  expect_clean(kernel.packed.emulate_backward(made.problem, made.lengths(),
                                              made.tensors(rows, gradients),
                                              options_of(schedule_seed), is_deterministic, {}));
  return gradients;
}

/// One sequence as the last entry of a batch, of which nothing else is computed.
class Alone {
 public:
  Alone(const AttentionKernel& kernel, const PackedCase& made, int sequence)
      : kernel_(kernel), made_(made), sequence_(sequence), problem_(made.problem) {
    problem_.batch = sequence + 1;
    problem_.seqlen_q = made.seqlens[static_cast<std::size_t>(sequence)].seqlen_q;
    problem_.seqlen_k = made.seqlens[static_cast<std::size_t>(sequence)].seqlen_k;
  }

  PackedRows forward() const {
    PackedRows rows(made_);
    std::vector<float> lse(problem_.lse_elements());
    ForwardTensors tensors = made_.tensors(rows).from(made_, sequence_);
    tensors.lse = lse.data();
    const std::vector<SampleTile> tiles = tiles_of(problem_.seqlen_q, problem_.heads);
    expect_clean(kernel_.forward.emulate(problem_, tensors, options_of(), tiles));
    copy_lse(lse, rows.lse);
    return rows;
  }
  PackedGradients backward(const PackedRows& rows, bool is_deterministic) const {
    PackedGradients gradients(made_);
    BackwardTensors tensors = made_.tensors(rows, gradients).from(made_, sequence_);
    std::vector<float> lse(problem_.lse_elements());
    copy_from_lse(rows.lse, lse);
    tensors.lse = lse.data();
    const BackwardSample all{tiles_of(problem_.seqlen_q, problem_.heads),
                             tiles_of(problem_.seqlen_k, problem_.key_heads())};
    expect_clean(kernel_.backward.emulate(problem_, tensors, options_of(), is_deterministic, all));
    return gradients;
  }

 private:
  std::vector<SampleTile> tiles_of(int seqlen, int heads) const {
    std::vector<SampleTile> tiles;
    for (int head = 0; head < heads; ++head) {
      for (int t = 0; t < sample_tiles_of(seqlen); ++t) tiles.push_back({t, head, sequence_});
    }
    return tiles;
  }
  /// Calls move(index of all, index of the batch) for each row of each head.
  template <class Move>
  void for_lse(Move move) const {
    const int first = made_.cu_seqlens_q[static_cast<std::size_t>(sequence_)];
    for (int head = 0; head < problem_.heads; ++head) {
      for (int row = 0; row < problem_.seqlen_q; ++row) {
        move(lse_offset(0, head, first + row, problem_.heads, made_.problem.seqlen_q),
             lse_offset(sequence_, head, row, problem_.heads, problem_.seqlen_q));
      }
    }
  }
  void copy_lse(const std::vector<float>& of_batch, std::vector<float>& of_all) const {
    for_lse([&](std::size_t to, std::size_t from) { of_all[to] = of_batch[from]; });
  }
  void copy_from_lse(const std::vector<float>& of_all, std::vector<float>& of_batch) const {
    for_lse([&](std::size_t from, std::size_t to) { of_batch[to] = of_all[from]; });
  }

  const AttentionKernel& kernel_;
  const PackedCase& made_;
  int sequence_;
  Problem problem_;
};

Problem problem_of(int head_dim, const MaskSpec& mask, float dropout_p, int heads_k) {
  return {.heads = 4,
          .head_dim = head_dim,
          .mask = mask,
          .dropout_p = dropout_p,
          .seed = 11,
          .heads_k = heads_k};
}

/// The rows of `sequence` in `got` are those of `want`; what has no keys, or no queries, is zero.
void expect_same_rows(const PackedCase& made, int sequence, const PackedRows& got,
                      const PackedRows& want) {
  const Lengths& lengths = made.seqlens[static_cast<std::size_t>(sequence)];
  for (int row = 0; row < lengths.seqlen_q; ++row) {
    const int packed_row = made.cu_seqlens_q[static_cast<std::size_t>(sequence)] + row;
    ASSERT_TRUE(made.same_query(got.o, want.o, packed_row)) << sequence << ", row " << row;
    for (int head = 0; head < made.problem.heads; ++head) {
      const std::size_t at =
          lse_offset(0, head, packed_row, made.problem.heads, made.problem.seqlen_q);
      ASSERT_EQ(got.lse[at], want.lse[at]) << sequence << ", row " << row;
    }
  }
}

void expect_same_gradients(const PackedCase& made, int sequence, const PackedGradients& got,
                           const PackedGradients& want, bool with_dq) {
  const Lengths& lengths = made.seqlens[static_cast<std::size_t>(sequence)];
  const auto at = static_cast<std::size_t>(sequence);
  for (int row = 0; with_dq && row < lengths.seqlen_q; ++row) {
    ASSERT_TRUE(made.same_query(got.dq, want.dq, made.cu_seqlens_q[at] + row))
        << sequence << ", row " << row;
  }
  for (int key = 0; key < lengths.seqlen_k; ++key) {
    ASSERT_TRUE(made.same_key(got.dk, want.dk, made.cu_seqlens_k[at] + key))
        << sequence << ", key " << key;
    ASSERT_TRUE(made.same_key(got.dv, want.dv, made.cu_seqlens_k[at] + key))
        << sequence << ", key " << key;
  }
}

/// The atomic sums come in another order.
void expect_near(const std::vector<Half>& got, const std::vector<Half>& want) {
  ASSERT_EQ(got.size(), want.size());
  float largest = 0.0f;
  for (const Half value : want) largest = std::max(largest, std::fabs(to_float(value)));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(to_float(got[i]) - to_float(want[i])), largest / 512.0f) << i;
  }
}

bool is_whole(const Lengths& lengths) { return lengths.seqlen_q > 0 && lengths.seqlen_k > 0; }

void expect_alone(const AttentionKernel& kernel, const PackedCase& made) {
  const PackedRows rows = run_forward(kernel, made);
  const bool has_backward = kernel.has_backward();
  PackedGradients fixed(made), atomic(made);
  if (has_backward) {
    fixed = run_backward(kernel, made, rows, true);
    atomic = run_backward(kernel, made, rows, false);
    expect_near(atomic.dq, fixed.dq);
  }
  for (int i = 0; i < made.batch(); ++i) {
    const Lengths& lengths = made.seqlens[static_cast<std::size_t>(i)];
    if (!is_whole(lengths)) {
      expect_same_rows(made, i, rows, PackedRows::of_no_key(made));
      if (!has_backward) continue;
      expect_same_gradients(made, i, fixed, PackedGradients::zeros(made), true);
      expect_same_gradients(made, i, atomic, PackedGradients::zeros(made), true);
      continue;
    }
    const Alone alone(kernel, made, i);
    expect_same_rows(made, i, rows, alone.forward());
    if (!has_backward) continue;
    expect_same_gradients(made, i, fixed, alone.backward(rows, true), true);
    expect_same_gradients(made, i, atomic, alone.backward(rows, false), false);
  }
}

/// An accumulator's kernel and a head_dim.
class VoltaPacked : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  const AttentionKernel& kernel_ = *find_attention_kernel(std::get<0>(GetParam()));
  int head_dim_ = std::get<1>(GetParam());
};

TEST_P(VoltaPacked, HasTheBitsOfEachSequenceAlone) {
  expect_alone(kernel_, PackedCase(problem_of(head_dim_, MaskSpec::causal(), 0.1f, 2), kRagged));
}

TEST_P(VoltaPacked, HasThemWithoutMaskAndDropout) {
  expect_alone(kernel_, PackedCase(problem_of(head_dim_, MaskSpec::full(), 0.0f, 4), kRagged));
}

INSTANTIATE_TEST_SUITE_P(Instances, VoltaPacked,
                         testing::Combine(testing::Values("volta-fp16acc", "volta-fp32acc"),
                                          testing::Values(24, 64, 80, 88, 128, 160, 256)));
INSTANTIATE_TEST_SUITE_P(ForwardInstances, VoltaPacked,
                         testing::Combine(testing::Values("volta-mixedacc", "volta-fp16acc-o16"),
                                          testing::Values(64, 128, 256)));

class VoltaPackedMasks : public testing::TestWithParam<MaskSpec> {};

TEST_P(VoltaPackedMasks, AreThoseOfEachSequence) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  expect_alone(kernel, PackedCase(problem_of(64, GetParam(), 0.0f, 1), kRagged));
}

INSTANTIATE_TEST_SUITE_P(Kinds, VoltaPackedMasks, testing::ValuesIn(kMaskOfEachKind));

TEST(VoltaPackedBits, DependOnNoSchedule) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp16acc");
  const PackedCase made(problem_of(64, MaskSpec::window(50), 0.5f, 2), kRagged);
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
  const PackedCase made(problem_of(64, MaskSpec::causal(), 0.1f, 4), kRagged);
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
  expect_clean(
      kernel.packed.emulate_forward(made.problem, made.lengths(), tensors, options_of(), {}));
  EXPECT_TRUE(same_bits(rows.o, want.o));
}

TEST(VoltaPacked, OfNoSequenceOrNoRowIsNothing) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  const Problem problem = problem_of(64, MaskSpec::causal(), 0.1f, 4);
  for (const std::vector<Lengths>& lengths :
       {std::vector<Lengths>{}, {{0, 0}}, {{0, 0}, {0, 0}}, {{3, 0}}, {{0, 3}}}) {
    expect_alone(kernel, PackedCase(problem, lengths));
  }
}

TEST(VoltaPacked, TouchesNothingElseWhateverOffsetsAre) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  PackedCase made(problem_of(64, MaskSpec::full(), 0.0f, 4), {{30, 40}, {20, 50}, {150, 60}});
  for (const std::vector<int>& offsets :
       {std::vector<int>{0, 900, -5, 200}, {10, 5, 3, 1000}, {-7, -3, 100, 50}}) {
    made.cu_seqlens_q = made.cu_seqlens_k = offsets;
    PackedRows rows(made);
    const EmulationReport report = kernel.packed.emulate_forward(
        made.problem, made.lengths(), made.tensors(rows).all, options_of(), {});
    for (const Finding& finding : report.findings) {
      EXPECT_NE(finding.kind, FindingKind::kOutOfBounds) << finding.message;
    }
  }
}

TEST(VoltaPacked, RefusesWhatIsNotPacked) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  PackedCase made(problem_of(64, MaskSpec::full(), 0.0f, 4), {{3, 4}});
  PackedRows rows(made);
  made.problem.batch = 2;
  EXPECT_THROW(kernel.packed.emulate_forward(made.problem, made.lengths(), made.tensors(rows).all,
                                             options_of(), {}),
               std::invalid_argument);
}

/// What of a sample is computed, and the counts that it stands for.
class VoltaPackedSample : public testing::Test {
 protected:
  const AttentionKernel& kernel_ = *find_attention_kernel("volta-fp32acc");
  PackedCase made_{problem_of(64, MaskSpec::causal(), 0.0f, 2),
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
  const EmulationReport of_whole = kernel_.packed.emulate_forward(
      made_.problem, made_.lengths(), made_.tensors(whole).all, options_of(), {});
  const std::vector<SampleTile> tiles = {{0, 1, 0}, {2, 1, 0}, {0, 3, 4}, {1, 2, 3}};
  const EmulationReport of_some = kernel_.packed.emulate_forward(
      made_.problem, made_.lengths(), made_.tensors(some).all, options_of(), tiles);
  expect_clean(of_some);
  expect_near_counts(of_some, of_whole, 0.05);
  for (const auto& [tile, head, sequence] : tiles) {
    const int first = made_.cu_seqlens_q[static_cast<std::size_t>(sequence)] + kSampleRows * tile;
    const std::size_t at = row_offset(0, first, head, 0, made_.problem.heads, 64);
    EXPECT_EQ(std::memcmp(&some.o[at], &whole.o[at], 64 * sizeof(Half)), 0) << sequence;
  }
  EXPECT_EQ(some.o[row_offset(0, 0, 0, 0, made_.problem.heads, 64)].bits, 0x7fff);  // not computed
}

TEST_F(VoltaPackedSample, OfSequencesHasTheirGradients) {
  const PackedRows rows = run_forward(kernel_, made_);
  for (const bool is_deterministic : {true, false}) {
    PackedGradients whole(made_), some(made_);
    const EmulationReport of_whole =
        kernel_.packed.emulate_backward(made_.problem, made_.lengths(), made_.tensors(rows, whole),
                                        options_of(), is_deterministic, {});
    BackwardSample sample;  // of sequences 0 and 2 the second key head, which heads 2 and 3 read
    for (const int sequence : {0, 2}) {
      for (int t = 0; t < (sequence == 0 ? 3 : 1); ++t) {
        sample.query_tiles.push_back({t, 2, sequence});
        sample.query_tiles.push_back({t, 3, sequence});
        sample.key_tiles.push_back({t, 1, sequence});
      }
    }
    const EmulationReport of_some =
        kernel_.packed.emulate_backward(made_.problem, made_.lengths(), made_.tensors(rows, some),
                                        options_of(), is_deterministic, sample);
    expect_clean(of_some);
    expect_near_counts(of_some, of_whole, 0.05);
    for (const int sequence : {0, 2}) {
      const auto i = static_cast<std::size_t>(sequence);
      for (int row = 0; row < made_.seqlens[i].seqlen_q; ++row) {
        const std::size_t q = row_offset(0, made_.cu_seqlens_q[i] + row, 2, 0, 4, 64);
        const std::size_t k = row_offset(0, made_.cu_seqlens_k[i] + row, 1, 0, 2, 64);
        const std::size_t bytes = 64 * sizeof(Half);
        if (is_deterministic) {
          ASSERT_EQ(std::memcmp(&some.dq[q], &whole.dq[q], 2 * bytes), 0) << sequence;
        }
        ASSERT_EQ(std::memcmp(&some.dk[k], &whole.dk[k], bytes), 0) << sequence << ", " << row;
        ASSERT_EQ(std::memcmp(&some.dv[k], &whole.dv[k], bytes), 0) << sequence << ", " << row;
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench
