// Packed sequences (kernels/packed.h) as cuDNN is given them: those, and of each the rows, that
// have keys to see. Of the rest it makes NaN (versions before 9.25), so who calls it clears that.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.h"

namespace sparkbench::cudnn {

/// Rows and keys count from the first of all sequences.
struct RaggedSequence {
  int first_row, rows;
  int first_key, keys;
};

struct RaggedBatch {
  std::vector<RaggedSequence> sequences;   // each has rows and keys
  std::vector<Range> blind_rows;           // that see no key: O = 0, LSE = -inf, dQ = 0
  std::vector<Range> unread_keys;          // of sequences that are left out: dK = dV = 0
  int longest_rows = 0, longest_keys = 0;  // of `sequences`
  int total_rows = 0, total_keys = 0;      // of the whole tensors

  /// Whether the last row stands at the last key, and the first at the first, in each.
  bool are_square() const;
  /// At which element each begins in a tensor whose rows, or keys, are `stride` elements apart, and
  /// behind them where the last ends.
  std::vector<std::int64_t> first_rows(std::int64_t stride) const;
  std::vector<std::int64_t> first_keys(std::int64_t stride) const;
  /// The rows of each, and the keys.
  std::vector<std::int32_t> rows() const;
  std::vector<std::int32_t> keys() const;
};

/// Of a problem with lengths, whose mask is no pattern.
RaggedBatch ragged_batch(const Problem& problem);

}  // namespace sparkbench::cudnn
