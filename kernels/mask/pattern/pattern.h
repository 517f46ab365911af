// A pattern: which keys each row sees, as a union of terms, per head. The algebra of regular sparse
// attention: AND, transpose, disjoint union (disjoint.h), tiles (tile_plan.h), counts
// (pattern_pairs.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/mask/pattern/bit_rows.h"
#include "kernels/mask/pattern/grid.h"
#include "kernels/mask/pattern/row_bounds.h"
#include "kernels/mask/predicate/pair_predicate.h"

namespace sparkbench {

/// Pairs that all of its parts see. Zones and predicates are over positions, arrays and bits over
/// indices.
struct Term {
  Zone flat;              // over the sequence itself; causal order is {.d1 = 1}
  Grid grid;              // over its axes; {}: no grid
  SharedBounds bounds;    // nullptr: none
  SharedBits bits;        // nullptr: none
  SharedPredicate where;  // nullptr: none
  /// Only for disjoint terms: bit t is whether the earlier term t takes the pairs that it has in
  /// common with this one.
  std::uint64_t hidden_by = 0;

  bool is_closed_form() const { return bounds == nullptr && bits == nullptr && where == nullptr; }
};

/// Row r stands at position r + row_at, key k at k + key_at.
struct Pattern {
  int seqlen_q = 0, seqlen_k = 0;  // 1 to kLongestSequence
  int row_at = 0, key_at = 0;
  std::vector<std::vector<Term>> unions;  // at least one; a union may have no terms

  /// Head h has the terms of union h % unions.size().
  const std::vector<Term>& terms(int head) const {
    return unions[static_cast<std::size_t>(head) % unions.size()];
  }
  Range row_positions() const { return {row_at, row_at + seqlen_q}; }
  Range key_positions() const { return {key_at, key_at + seqlen_k}; }
};

/// A pattern without terms. The last row stands at the last key. Throws std::invalid_argument for a
/// length below 1 or above kLongestSequence.
Pattern empty_pattern(int seqlen_q, int seqlen_k);

/// The definition. Indices outside of the sequences see nothing, and are seen by nothing.
bool sees(const Pattern& pattern, const Term& term, int row, int key);
bool sees(const Pattern& pattern, int head, int row, int key);

/// Bit i is whether the row sees key first + i, by shifts of ranges instead of keys one by one.
std::uint64_t key_word(const Pattern& pattern, const Term& term, int row, int first);
std::uint64_t key_word(const Pattern& pattern, int head, int row, int first);

/// The pairs (key, row), for the backward pass over keys. Disjoint terms stay disjoint.
Pattern transposed(const Pattern& pattern);

/// Whether `both(a, b)` is a term: at most one of them has a grid, or their grids have the same
/// axes and clamp nothing, or the grids are equal.
bool can_be_both(const Term& a, const Term& b);
Term both(const Term& a, const Term& b);

/// The bits of one head.
SharedBits bits_of(const Pattern& pattern, int head);

}  // namespace sparkbench
