#include "kernels/mask/pattern/pattern.h"

#include <algorithm>
#include <bit>
#include <numeric>
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

void require_same_rows_and_keys(const Pattern& a, const Pattern& b) {
  if (a.seqlen_q == b.seqlen_q && a.seqlen_k == b.seqlen_k && a.row_at == b.row_at &&
      a.key_at == b.key_at) {
    return;
  }
  const auto lengths = [](const Pattern& pattern) {
    return std::to_string(pattern.seqlen_q) + " x " + std::to_string(pattern.seqlen_k);
  };
  throw std::invalid_argument("patterns of " + lengths(a) + " and of " + lengths(b) +
                              " do not join; allowed: of the same lengths");
}

/// Joins the unions of each head.
template <class Join>
Pattern join_heads(const Pattern& a, const Pattern& b, const Join& join) {
  require_same_rows_and_keys(a, b);
  Pattern joined = a;
  joined.unions.clear();
  const std::size_t heads = std::lcm(a.unions.size(), b.unions.size());
  for (std::size_t head = 0; head < heads; ++head) {
    joined.unions.push_back(join(a.terms(static_cast<int>(head)), b.terms(static_cast<int>(head))));
  }
  return joined;
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

bool is_taken_by(const Pattern& pattern, int head, std::size_t term, int row, int key) {
  const std::vector<Term>& terms = pattern.terms(head);
  if (!sees(pattern, terms[term], row, key)) return false;
  for (std::uint64_t left = terms[term].hidden_by; left != 0; left &= left - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(left));
    if (sees(pattern, terms[other], row, key)) return false;
  }
  return true;
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

Pattern both(const Pattern& a, const Pattern& b) {
  return join_heads(a, b, [](const std::vector<Term>& ones, const std::vector<Term>& others) {
    std::vector<Term> joined;
    for (const Term& one : ones) {
      for (const Term& other : others) {
        if (!can_be_both(one, other)) {
          throw std::invalid_argument(
              "two grids of unlike axes have no grid in common; allowed: bits_of() one of them");
        }
        joined.push_back(both(one, other));
        joined.back().hidden_by = 0;
      }
    }
    return joined;
  });
}

Pattern either(const Pattern& a, const Pattern& b) {
  return join_heads(a, b, [](std::vector<Term> joined, const std::vector<Term>& others) {
    joined.insert(joined.end(), others.begin(), others.end());
    for (Term& term : joined) term.hidden_by = 0;
    return joined;
  });
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
