// Shared by the varlen tests of all kernels, on the emulated machine: each sequence has the bits
// that it has by itself, as the same entry of a batch.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_options.h"
#include "kernels/testing/test_packed.h"

namespace sparkbench {

/// Both sides empty, only keys, only queries, one key, one query, several blocks of either, and
/// empty ones again at the end.
inline const std::vector<Lengths> kRagged = {{0, 0},  {77, 150}, {0, 20},   {19, 0},
                                             {40, 1}, {1, 65},   {300, 70}, {0, 0},
                                             {5, 5},  {33, 0},   {0, 9}};

inline EmulationOptions seeded_options(const AttentionKernel& kernel, std::uint64_t schedule_seed) {
  EmulationOptions options = options_of(kernel);
  options.schedule_seed = schedule_seed;
  return options;
}

/// Under a shuffled schedule the threads that list blocks may have bank conflicts.
inline void expect_clean_but_for_lists(const EmulationReport& report) {
  EXPECT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
  for (const SiteCounters& site : report.sites) {
    if (site.file.find("list_blocks.h") != std::string::npos) continue;
    EXPECT_EQ(site.bank_conflicts, 0u) << site.file << ":" << site.line;
  }
}

inline PackedRows run_forward(const AttentionKernel& kernel, const PackedCase& made,
                              std::uint64_t schedule_seed = 0) {
  PackedRows rows(made);
  expect_clean_but_for_lists(emulate_packed_forward(kernel, made.problem, made.lengths(),
                                                    made.tensors(rows),
                                                    seeded_options(kernel, schedule_seed), {}));
  return rows;
}

inline PackedGradients run_backward(const AttentionKernel& kernel, const PackedCase& made,
                                    const PackedRows& rows, bool is_deterministic,
                                    std::uint64_t schedule_seed = 0) {
  PackedGradients gradients(made);
  expect_clean_but_for_lists(
      emulate_packed_backward(kernel, made.problem, made.lengths(), made.tensors(rows, gradients),
                              seeded_options(kernel, schedule_seed), is_deterministic, {}));
  return gradients;
}

/// One sequence as the last entry of a batch; no other entry is computed.
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
    expect_clean_but_for_lists(
        emulate_forward(kernel_, problem_, tensors, options_of(kernel_), tiles));
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
    expect_clean_but_for_lists(
        emulate_backward(kernel_, problem_, tensors, options_of(kernel_), is_deterministic, all));
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

inline Problem packed_problem(int head_dim, const MaskSpec& mask, float dropout_p, int heads_k) {
  return {.heads = 4,
          .head_dim = head_dim,
          .mask = mask,
          .dropout_p = dropout_p,
          .seed = 11,
          .heads_k = heads_k};
}

/// The rows of `sequence` in `got` are those of `want`; what has no keys, or no queries, is zero.
inline void expect_same_rows(const PackedCase& made, int sequence, const PackedRows& got,
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

inline void expect_same_gradients(const PackedCase& made, int sequence, const PackedGradients& got,
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
inline void expect_near(const std::vector<Half>& got, const std::vector<Half>& want) {
  ASSERT_EQ(got.size(), want.size());
  float largest = 0.0f;
  for (const Half value : want) largest = std::max(largest, std::fabs(to_float(value)));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(to_float(got[i]) - to_float(want[i])), largest / 512.0f) << i;
  }
}

inline bool is_whole(const Lengths& lengths) {
  return lengths.seqlen_q > 0 && lengths.seqlen_k > 0;
}

inline void expect_alone(const AttentionKernel& kernel, const PackedCase& made) {
  const PackedRows rows = run_forward(kernel, made);
  const PackedGradients fixed = run_backward(kernel, made, rows, true),
                        atomic = run_backward(kernel, made, rows, false);
  expect_near(atomic.dq, fixed.dq);
  for (int i = 0; i < made.batch(); ++i) {
    const Lengths& lengths = made.seqlens[static_cast<std::size_t>(i)];
    if (!is_whole(lengths)) {
      expect_same_rows(made, i, rows, PackedRows::of_no_key(made));
      expect_same_gradients(made, i, fixed, PackedGradients::zeros(made), true);
      expect_same_gradients(made, i, atomic, PackedGradients::zeros(made), true);
      continue;
    }
    const Alone alone(kernel, made, i);
    expect_same_rows(made, i, rows, alone.forward());
    expect_same_gradients(made, i, fixed, alone.backward(rows, true), true);
    expect_same_gradients(made, i, atomic, alone.backward(rows, false), false);
  }
}

}  // namespace sparkbench
