// The keys of each row as two arrays, begin and end, neither of which ever falls. For documents,
// whose rows see one interval of keys that no zone expresses.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/mask/key_mask.h"

namespace sparkbench {

/// Row r sees the keys [begin[r], end[r]), none unless begin < end. Indices, not positions. An
/// entry for each row, in [0, seqlen_k] and not below the one before.
struct RowBounds {
  std::vector<int> begin, end;

  Range keys(int row) const {
    return {begin[static_cast<std::size_t>(row)], end[static_cast<std::size_t>(row)]};
  }
};
using SharedBounds = std::shared_ptr<const RowBounds>;

/// A row of documents, of these lengths, each at least 1: a key sees its document. A row that
/// stands before key 0 or after the last document sees none. Throws std::invalid_argument for a
/// length below 1.
SharedBounds document_bounds(std::span<const int> lengths, int seqlen_q, int seqlen_k);

/// Lengths that fill a sequence: drawn evenly from 1 to 2 mean - 1, always the same ones.
std::vector<int> drawn_documents(int mean, int seqlen);

/// AND. Both must have equally many rows.
SharedBounds both(const RowBounds& a, const RowBounds& b);

/// The keys before, and after, each row's own; the three together are all keys.
SharedBounds keys_before(const RowBounds& bounds);
SharedBounds keys_behind(const RowBounds& bounds, int seqlen_k);

/// The rows that see each key.
SharedBounds transposed(const RowBounds& bounds, int seqlen_k);

}  // namespace sparkbench
