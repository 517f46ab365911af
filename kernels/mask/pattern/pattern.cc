#include "kernels/mask/pattern/pattern.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

bool is_inside(const Pattern& pattern, int row, int key) {
  return row >= 0 && row < pattern.seqlen_q && key >= 0 && key < pattern.seqlen_k;
}

/// The grid's part of key_word(): a run along the innermost axis after the other.
std::uint64_t grid_word(const Grid& grid, int q, int first_position) {
  const Point row = coordinates(grid, q);
  for (int axis = 0; axis < grid.axes; ++axis) {
    const Zone& zone = grid.zone[axis];
    if (row.at[axis] < zone.q0 || row.at[axis] >= zone.q1) return 0;
  }
  const int inner = grid.axes - 1;
  const Range seen = axis_keys(grid, inner, row.at[inner]);
  std::uint64_t word = 0;
  for (int at = 0; at < kWordKeys;) {
    const Point key = coordinates(grid, first_position + at);
    const int left = kWordKeys - at;
    const int run = inner == 0 ? left : std::min(left, grid.extent[inner] - key.at[inner]);
    bool is_seen = true;
    for (int axis = 0; axis < inner; ++axis) {
      is_seen = is_seen && axis_keys(grid, axis, row.at[axis]).contains(key.at[axis]);
    }
    if (is_seen) word |= (key_bits(seen, key.at[inner]) & key_bits_below(run)) << at;
    at += run;
  }
  return word;
}

}  // namespace

Pattern empty_pattern(int seqlen_q, int seqlen_k) {
  for (const int length : {seqlen_q, seqlen_k}) {
    if (length >= 1 && length <= kLongestSequence) continue;
    throw std::invalid_argument("a sequence of " + std::to_string(length) + "; allowed: 1 to " +
                                std::to_string(kLongestSequence));
  }
  return {seqlen_q, seqlen_k, seqlen_k - seqlen_q, 0, {{}}};
}

bool sees(const Pattern& pattern, const Term& term, int row, int key) {
  if (!is_inside(pattern, row, key)) return false;
  const int q = row + pattern.row_at, k = key + pattern.key_at;
  if (!term.flat.sees(q, k) || !sees(term.grid, q, k)) return false;
  if (term.bounds != nullptr && !term.bounds->keys(row).contains(key)) return false;
  if (term.bits != nullptr && !term.bits->sees(row, key)) return false;
  return term.where == nullptr || term.where->sees(q, k);
}

bool sees(const Pattern& pattern, int head, int row, int key) {
  const std::vector<Term>& terms = pattern.terms(head);
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Term& term) { return sees(pattern, term, row, key); });
}

std::uint64_t key_word(const Pattern& pattern, const Term& term, int row, int first) {
  if (row < 0 || row >= pattern.seqlen_q) return 0;
  const int q = row + pattern.row_at, k = first + pattern.key_at;
  if (q < term.flat.q0 || q >= term.flat.q1) return 0;
  std::uint64_t word = key_bits({0, pattern.seqlen_k}, first) & key_bits(term.flat.keys(q), k);
  if (term.bounds != nullptr) word &= key_bits(term.bounds->keys(row), first);
  if (term.bits != nullptr) word &= term.bits->word(row, first);
  if (term.grid.axes > 0 && word != 0) word &= grid_word(term.grid, q, k);
  if (term.where != nullptr && word != 0) word &= term.where->word(q, k);
  return word;
}

std::uint64_t key_word(const Pattern& pattern, int head, int row, int first) {
  std::uint64_t word = 0;
  for (const Term& term : pattern.terms(head)) word |= key_word(pattern, term, row, first);
  return word;
}

Pattern transposed(const Pattern& pattern) {
  Pattern other = pattern;
  std::swap(other.seqlen_q, other.seqlen_k);
  std::swap(other.row_at, other.key_at);
  for (std::vector<Term>& terms : other.unions) {
    for (Term& term : terms) {
      term.flat = transposed(term.flat);
      term.grid = transposed(term.grid);
      if (term.bounds != nullptr) term.bounds = transposed(*term.bounds, pattern.seqlen_k);
      if (term.bits != nullptr) term.bits = transposed(*term.bits);
      if (term.where != nullptr) term.where = transposed(*term.where);
    }
  }
  return other;
}

bool can_be_both(const Term& a, const Term& b) {
  if (a.grid.axes == 0 || b.grid.axes == 0 || a.grid == b.grid) return true;
  return has_same_axes(a.grid, b.grid) && a.grid.clamp == Clamp::kNone &&
         b.grid.clamp == Clamp::kNone;
}

Term both(const Term& a, const Term& b) {
  Term joined = a;
  joined.flat = both(a.flat, b.flat);
  if (a.grid.axes == 0) {
    joined.grid = b.grid;
  } else if (b.grid.axes != 0 && !(a.grid == b.grid)) {
    for (int axis = 0; axis < a.grid.axes; ++axis) {
      joined.grid.zone[axis] = both(a.grid.zone[axis], b.grid.zone[axis]);
    }
  }
  if (b.bounds != nullptr) joined.bounds = a.bounds ? both(*a.bounds, *b.bounds) : b.bounds;
  if (b.bits != nullptr) joined.bits = a.bits ? both(*a.bits, *b.bits) : b.bits;
  if (b.where != nullptr) joined.where = a.where ? both(*a.where, *b.where) : b.where;
  return joined;
}

SharedBits bits_of(const Pattern& pattern, int head) {
  BitRows bits(pattern.seqlen_q, pattern.seqlen_k);
  for (int row = 0; row < pattern.seqlen_q; ++row) {
    int first = 0;
    for (std::uint64_t& word : bits.row(row)) {
      word = key_word(pattern, head, row, first);
      first += kWordKeys;
    }
  }
  return std::make_shared<const BitRows>(std::move(bits));
}

}  // namespace sparkbench
