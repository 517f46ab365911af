#include "kernels/mask/pattern/pattern_pairs.h"

#include <bit>

#include "kernels/mask/pattern/disjoint.h"

namespace sparkbench {
namespace {

/// Keys of a row of a term without bits: those of a box, from one position to another.
std::int64_t keys_of_row(const Pattern& pattern, const Term& term, int row) {
  const int q = row + pattern.row_at;
  if (q < term.flat.q0 || q >= term.flat.q1) return 0;
  Range range = overlap(term.flat.keys(q), pattern.key_positions());
  if (term.bounds != nullptr) {
    const Range keys = term.bounds->keys(row);
    range = overlap(range, {keys.begin + pattern.key_at, keys.end + pattern.key_at});
  }
  if (range.is_empty()) return 0;
  if (term.grid.axes == 0) return range.size();
  const Point at = coordinates(term.grid, q);
  Box of_row;
  for (int axis = 0; axis < term.grid.axes; ++axis) {
    of_row.range[axis] = {at.at[axis], at.at[axis] + 1};
  }
  Box seen = hull(term.grid, of_row);
  // Bound the lines: counts are exact only over a finite number of them.
  seen.range[0] = overlap(seen.range[0], {coordinates(term.grid, range.begin).at[0],
                                          coordinates(term.grid, range.end - 1).at[0] + 1});
  if (is_empty(term.grid, seen)) return 0;
  return positions_below(term.grid, seen, range.end) -
         positions_below(term.grid, seen, range.begin);
}

/// Those of 64 keys of a row that only this term takes.
std::uint64_t taken_word(const Pattern& pattern, const std::vector<Term>& terms, const Term& term,
                         int row, int first) {
  std::uint64_t word = key_word(pattern, term, row, first);
  for (std::uint64_t left = term.hidden_by; left != 0 && word != 0; left &= left - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(left));
    word &= ~key_word(pattern, terms[other], row, first);
  }
  return word;
}

/// The keys of a row that only this term takes, by mask words.
std::int64_t taken_by_words(const Pattern& pattern, const std::vector<Term>& terms,
                            const Term& term, int row) {
  std::int64_t keys = 0;
  for (int first = 0; first < pattern.seqlen_k; first += kWordKeys) {
    keys += std::popcount(taken_word(pattern, terms, term, row, first));
  }
  return keys;
}

/// The same for a term with a predicate, over all rows: by mask words, except where bounds tell
/// that nothing is visible.
std::int64_t taken_by_predicate(const Pattern& pattern, const std::vector<Term>& terms,
                                const Term& term) {
  std::int64_t pairs = 0;
  for (int row = 0; row < pattern.seqlen_q; row += kWordKeys) {
    const Range rows = {row, least_of(row + kWordKeys, pattern.seqlen_q)};
    for (int first = 0; first < pattern.seqlen_k; first += kWordKeys) {
      const Range keys = {first, least_of(first + kWordKeys, pattern.seqlen_k)};
      const TileCover cover =
          term.where->cover({rows.begin + pattern.row_at, rows.end + pattern.row_at},
                            {keys.begin + pattern.key_at, keys.end + pattern.key_at});
      if (cover == TileCover::kEmpty) continue;
      for (int of_tile = rows.begin; of_tile < rows.end; ++of_tile) {
        pairs += std::popcount(taken_word(pattern, terms, term, of_tile, first));
      }
    }
  }
  return pairs;
}

}  // namespace

std::uint64_t visible_pairs(const Pattern& pattern, int head) {
  Pattern one = pattern;
  one.unions = {pattern.terms(head)};
  one = disjoint(one);
  const std::vector<Term>& terms = one.unions[0];
  std::int64_t pairs = 0;
  for (const Term& term : terms) {
    if (term.where != nullptr) {
      pairs += taken_by_predicate(one, terms, term);
      continue;
    }
    const bool needs_words = term.bits != nullptr || term.hidden_by != 0;
    for (int row = 0; row < one.seqlen_q; ++row) {
      pairs += needs_words ? taken_by_words(one, terms, term, row) : keys_of_row(one, term, row);
    }
  }
  return static_cast<std::uint64_t>(pairs);
}

}  // namespace sparkbench
