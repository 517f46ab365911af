// Varlen (kernels/problem/packed.h) in cuDNN's form: only the sequences, and only their rows, that
// have keys to see. For the others cuDNN before 9.25 writes NaN, so the caller clears them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/problem/attention.h"

namespace sparkbench::cudnn {

/// Rows and keys count from the start of the batch.
struct RaggedSequence {
  int first_row, rows;
  int first_key, keys;
};

struct RaggedBatch {
  std::vector<RaggedSequence> sequences;   // each has rows and keys
  std::vector<Range> blind_rows;           // rows that see no key: O = 0, LSE = -inf, dQ = 0
  std::vector<Range> unread_keys;          // keys of omitted sequences: dK = dV = 0
  int longest_rows = 0, longest_keys = 0;  // over `sequences`
  int total_rows = 0, total_keys = 0;      // of the whole tensors

  /// Whether each sequence has its last row at the last key and its first row at the first key.
  bool are_square() const;
  /// The first element of each sequence in a tensor whose rows, or keys, are `stride` elements
  /// apart. The last entry is the end of the last sequence.
  std::vector<std::int64_t> first_rows(std::int64_t stride) const;
  std::vector<std::int64_t> first_keys(std::int64_t stride) const;
  /// The number of rows of each sequence, and of keys.
  std::vector<std::int32_t> rows() const;
  std::vector<std::int32_t> keys() const;
};

/// `problem` must have lengths and a mask that is not a pattern.
RaggedBatch ragged_batch(const Problem& problem);

}  // namespace sparkbench::cudnn
