// Shared by the tests of shifted scores. Softmax stays the same if one number is added to all
// scores of a row, so results must not depend on it. The score of a key past the end is 0, since
// its tile is filled up with zeros: where all true scores lie far below 0, it would outweigh them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_packed.h"
#include "kernels/testing/test_sparse.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {

/// One for each sequence of a batch, in turn.
inline constexpr float kShifts[] = {-1000.0f, -100.0f, -12.0f, 1000.0f};

/// The scores of a row, up to their shift.
enum class ScoreKind {
  kNormal,   // differ by about 1
  kAlike,    // the same for all keys
  kHuge,     // differ by tens
  kOneWins,  // the middle key's is 40 above the others
};

/// A problem, its inputs, and the comparison with the exact results.
class ShiftedCase {
 public:
  ShiftedCase(Problem problem, ScoreKind kind)
      : problem_(std::move(problem)),
        inputs_(make_inputs(problem_, Distribution::kNormal, 7)),
        d_o_(make_gradient_input(problem_, Distribution::kNormal, 7)) {
    for (std::size_t at = 0; at < inputs_.q.size(); at += columns()) {
      if (kind == ScoreKind::kHuge) scale_row(inputs_.q, at, 8.0f);
      inputs_.q[at] = to_half(kOfQuery);
      inputs_.q[at + 1] = to_half(1.0f);
    }
    for (int sequence = 0; sequence < problem_.batch; ++sequence) {
      for (int key = 0; key < problem_.seqlen_k_of(sequence); ++key) {
        for (int head = 0; head < problem_.key_heads(); ++head) {
          write_key(kind, {sequence, head, key});
        }
      }
    }
  }

  const Problem& problem() const { return problem_; }
  /// For a problem without lengths.
  PatternRun run(std::string_view kernel) const { return {kernel, problem_, inputs_, d_o_}; }
  /// For a problem with lengths.
  PackedCase packed() const {
    std::vector<Lengths> lengths;
    for (int sequence = 0; sequence < problem_.batch; ++sequence) {
      lengths.push_back({problem_.seqlen_q_of(sequence), problem_.seqlen_k_of(sequence)});
    }
    PackedCase made(problem_.packed(), lengths);
    made.inputs = inputs_;
    made.d_o = d_o_;
    return made;
  }

  /// Each element may err by `tolerance` times the largest of its tensor in the same sequence; for
  /// a gradient, the largest of all three. The channels that hold the shift multiply rounding
  /// errors by it, so there the only demand is that elements are finite.
  void expect_exact(const Passes& got, double tolerance) const {
    const std::vector<QueryRow> rows = all_rows(problem_);
    std::vector<double> largest(static_cast<std::size_t>(problem_.batch));
    const ExactRows want = exact_forward(problem_, inputs_.view(), rows);
    include_largest(rows, want.o, largest);
    expect_near("o", rows, gather_rows(problem_, got.o, got.lse, rows).o, want.o, tolerance,
                largest);
    if (got.dq.empty()) return;
    const GradientRows of = all_gradient_rows(problem_);
    const ExactGradients exact =
        exact_backward(problem_, {inputs_.q, inputs_.k, inputs_.v, d_o_}, of);
    std::fill(largest.begin(), largest.end(), 0.0);
    include_largest(of.dq, exact.dq, largest);
    include_largest(of.dkv, exact.dk, largest);
    include_largest(of.dkv, exact.dv, largest);
    const HalfGradients found = gather_gradients(problem_, {got.dq, got.dk, got.dv}, of);
    expect_near("dq", of.dq, found.dq, exact.dq, tolerance, largest);
    expect_near("dk", of.dkv, found.dk, exact.dk, tolerance, largest);
    expect_near("dv", of.dkv, found.dv, exact.dv, tolerance, largest);
  }

 private:
  static constexpr float kOfQuery = 8.0f;
  static constexpr std::size_t kShiftColumns = 2;  // the shift's and the winner's

  std::size_t columns() const { return static_cast<std::size_t>(problem_.head_dim); }

  void scale_row(std::vector<Half>& tensor, std::size_t at, float factor) const {
    for (std::size_t i = at; i < at + columns(); ++i) {
      tensor[i] = to_half(factor * to_float(tensor[i]));
    }
  }
  std::size_t key_at(const KeyRow& key) const {
    const bool is_packed = problem_.lengths != nullptr;
    const auto sequence = static_cast<std::size_t>(key.batch);
    const int first = is_packed ? problem_.lengths->cu_seqlens_k()[sequence] : 0;
    return row_offset(is_packed ? 0 : key.batch, first + key.row, key.head, problem_.seqlen_k,
                      problem_.key_heads(), problem_.head_dim);
  }
  void write_key(ScoreKind kind, const KeyRow& key) {
    const std::size_t at = key_at(key);
    if (kind == ScoreKind::kAlike) {
      std::copy_n(&inputs_.k[key_at({key.batch, key.head, 0})], columns(), &inputs_.k[at]);
    }
    const float shift = kShifts[static_cast<std::size_t>(key.batch) % std::size(kShifts)];
    const bool wins = kind == ScoreKind::kOneWins && key.row == problem_.seqlen_k_of(key.batch) / 2;
    inputs_.k[at] = to_half(shift / problem_.scale() / kOfQuery);
    inputs_.k[at + 1] = to_half(wins ? 40.0f / problem_.scale() : 0.0f);
  }

  template <class Row>
  void include_largest(const std::vector<Row>& rows, const std::vector<double>& exact,
                       std::vector<double>& largest) const {
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (i % columns() < kShiftColumns) continue;
      double& of_sequence = largest[static_cast<std::size_t>(rows[i / columns()].batch)];
      of_sequence = std::max(of_sequence, std::abs(exact[i]));
    }
  }
  template <class Row>
  void expect_near(const char* name, const std::vector<Row>& rows, const std::vector<Half>& got,
                   const std::vector<double>& want, double tolerance,
                   const std::vector<double>& largest) const {
    for (std::size_t i = 0; i < want.size(); ++i) {
      const Row& row = rows[i / columns()];
      const auto value = static_cast<double>(to_float(got[i]));
      const double of_sequence = largest[static_cast<std::size_t>(row.batch)];
      const bool holds_shift = i % columns() < kShiftColumns && name[0] == 'd';
      const bool is_right =
          holds_shift ? std::isfinite(value) : std::abs(value - want[i]) <= tolerance * of_sequence;
      ASSERT_TRUE(is_right) << name << " is " << value << " for " << want[i] << ", sequence "
                            << row.batch << ", head " << row.head << ", row " << row.row
                            << ", column " << i % columns() << ", largest " << of_sequence;
    }
  }

  Problem problem_;
  OwnedInputs inputs_;
  std::vector<Half> d_o_;
};

inline constexpr int kTileLengths[] = {8, 16, 32, 64, 96, 128, 160, 192, 256, 320};

/// Those around each tile; nightly every length up to 130, too.
inline std::vector<int> lengths_around_tiles() {
  std::set<int> lengths = {1, 2, 5};
  for (int length = 1; is_nightly() && length <= 130; ++length) lengths.insert(length);
  for (const int tile : kTileLengths) lengths.insert({tile - 1, tile, tile + 1});
  return {lengths.begin(), lengths.end()};
}

/// For emulated kernels: one less than a tile, as many as the next tile, one more than the one
/// after it. Nightly all those around tiles.
inline std::vector<int> some_lengths_around_tiles() {
  if (is_nightly()) return lengths_around_tiles();
  std::vector<int> lengths = {1, 2, 5};
  for (const int tile : kTileLengths) {
    lengths.push_back(tile - 1 + static_cast<int>(lengths.size()) % 3);
  }
  return lengths;
}

/// A batch with a sequence for each shift.
inline Problem shifted_problem(int head_dim, int seqlen_q, int seqlen_k, const MaskSpec& mask,
                               int heads_k) {
  return {.batch = static_cast<int>(std::size(kShifts)),
          .heads = 2,
          .seqlen_q = seqlen_q,
          .seqlen_k = seqlen_k,
          .head_dim = head_dim,
          .mask = mask,
          .heads_k = heads_k};
}

/// Sequences of these lengths, each with the next shift; some have fewer rows than keys.
inline Problem packed_shifted_problem(int head_dim, const MaskSpec& mask,
                                      const std::vector<int>& of_each) {
  std::vector<SequenceLength> lengths;
  for (const int length : of_each) {
    lengths.push_back({length % 3 == 0 ? length / 2 + 1 : length, length});
  }
  return with_lengths({.heads = 2, .head_dim = head_dim, .mask = mask, .heads_k = 1},
                      std::make_shared<const SequenceLengths>(lengths));
}

/// Masks whose last rows see the last key, or come near it, in different ways.
inline MaskSpec mask_of_length(int length) {
  const MaskSpec masks[] = {MaskSpec::causal(), MaskSpec::band(20, 30), MaskSpec::window(17),
                            MaskSpec::prefix(9)};
  return masks[length % 4];
}
inline std::string_view pattern_of_length(int length) {
  constexpr std::string_view kPatterns[] = {"window:40+causal-strided:8", "blocked:16",
                                            "dilated:20:3", "longformer:20:4"};
  return kPatterns[length % 4];
}

}  // namespace sparkbench
