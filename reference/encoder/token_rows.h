// Tokens of a layer, [tokens, hidden], as the sequences of its attention.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// The sequence's first token. A layer has as many keys as rows.
inline std::size_t first_token(const Problem& problem, int sequence) {
  const auto at = static_cast<std::size_t>(sequence);
  if (problem.lengths) return static_cast<std::size_t>(problem.lengths->cu_seqlens_q()[at]);
  return at * static_cast<std::size_t>(problem.seqlen_q);
}

/// The token of a row of Q or K.
template <class Row>
std::size_t token_of(const Problem& problem, const Row& row) {
  return first_token(problem, row.batch) + static_cast<std::size_t>(row.row);
}

/// Rows of one sequence.
struct SequenceRows {
  int sequence = 0, first = 0, count = 0;
};

/// For `count` tokens from `first` on: the sequences that contain them, and their rows there.
inline std::vector<SequenceRows> sequences_of_tokens(const Problem& problem, std::size_t first,
                                                     std::size_t count) {
  std::vector<SequenceRows> found;
  for (int i = 0; i < problem.batch; ++i) {
    const std::size_t begin = first_token(problem, i);
    const std::size_t end = begin + static_cast<std::size_t>(problem.seqlen_q_of(i));
    const std::size_t from = std::max(begin, first), to = std::min(end, first + count);
    if (from >= to) continue;
    found.push_back({i, static_cast<int>(from - begin), static_cast<int>(to - from)});
  }
  return found;
}

/// The rows of all heads for `count` tokens from `first` on, ascending.
inline std::vector<QueryRow> query_rows_of_tokens(const Problem& problem, std::size_t first,
                                                  std::size_t count) {
  std::vector<QueryRow> rows;
  for (const SequenceRows& of : sequences_of_tokens(problem, first, count)) {
    for (int head = 0; head < problem.heads; ++head) {
      for (int i = 0; i < of.count; ++i) rows.push_back({of.sequence, head, of.first + i});
    }
  }
  return rows;
}

}  // namespace sparkbench
