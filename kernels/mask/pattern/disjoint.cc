#include "kernels/mask/pattern/disjoint.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <tuple>

namespace sparkbench {
namespace {

constexpr std::size_t kMostTerms = 64;

/// The coordinates of positions on an axis.
Range on_axis(const Grid& grid, int axis, const Range& positions) {
  if (axis > 0) return {0, grid.extent[axis]};
  return {coordinates(grid, positions.begin).at[0], coordinates(grid, positions.end - 1).at[0] + 1};
}

/// Whether the term has no pair, as far as zones tell.
bool is_surely_empty(const Pattern& pattern, const Term& term) {
  const Range rows = pattern.row_positions(), keys = pattern.key_positions();
  Zone inside;
  inside.q0 = rows.begin, inside.q1 = rows.end, inside.k0 = keys.begin, inside.k1 = keys.end;
  if (is_empty(both(term.flat, inside))) return true;
  if (term.grid.clamp != Clamp::kNone) return false;
  for (int axis = 0; axis < term.grid.axes; ++axis) {
    const Range of_rows = on_axis(term.grid, axis, rows), of_keys = on_axis(term.grid, axis, keys);
    inside.q0 = of_rows.begin, inside.q1 = of_rows.end;
    inside.k0 = of_keys.begin, inside.k1 = of_keys.end;
    if (is_empty(both(term.grid.zone[axis], inside))) return true;
  }
  return false;
}

using Bound = int Zone::*;
struct Side {
  Bound lower, upper;
};
constexpr Side kSides[] = {{&Zone::q0, &Zone::q1}, {&Zone::k0, &Zone::k1}, {&Zone::d0, &Zone::d1}};

/// Cuts off what a term has outside a zone, one side of the zone at a time.
class Trimmer {
 public:
  Trimmer(const Pattern& pattern, Term rest) : pattern_(pattern), rest_(std::move(rest)) {}

  /// `zone_of(term)` is the zone of the term that `by` cuts.
  template <class ZoneOf>
  void cut(const Zone& by, const ZoneOf& zone_of) {
    for (const Side& side : kSides) {
      const int lower = by.*side.lower, upper = by.*side.upper;
      Term piece = rest_;
      zone_of(piece).*side.upper = std::min(zone_of(piece).*side.upper, lower);
      keep(piece);
      piece = rest_;
      zone_of(piece).*side.lower = std::max(zone_of(piece).*side.lower, upper);
      keep(piece);
      zone_of(rest_).*side.lower = std::max(zone_of(rest_).*side.lower, lower);
      zone_of(rest_).*side.upper = std::min(zone_of(rest_).*side.upper, upper);
    }
  }

  /// Keeps what the rest has in common with `part`.
  void keep_part(const Term& part) { keep(both(rest_, part)); }

  /// Gives a term without a grid the grid's axes, all still visible.
  void lay_out(const Grid& grid) {
    if (rest_.grid.axes != 0) return;
    rest_.grid.axes = grid.axes;
    std::copy(std::begin(grid.extent), std::end(grid.extent), std::begin(rest_.grid.extent));
  }

  void narrow(const Term& to) { rest_ = both(rest_, to); }
  std::vector<Term> pieces() && { return std::move(pieces_); }

 private:
  void keep(const Term& piece) {
    if (!is_surely_empty(pattern_, piece)) pieces_.push_back(piece);
  }

  const Pattern& pattern_;
  Term rest_;  // what the zones so far have in common with the term
  std::vector<Term> pieces_;
};

/// Terms that cost others the least pieces come first.
std::tuple<bool, bool, bool, bool> order_of(const Term& term) {
  const bool is_band = term.flat.d0 > -kUnbounded + 1 || term.flat.d1 < kUnbounded;
  return {term.bits != nullptr || term.where != nullptr, term.grid.axes != 0,
          term.bounds != nullptr, is_band};
}

/// A term before it was trimmed, and the bits of what is left of it.
struct Taken {
  Term term;
  std::uint64_t left;
};

/// The terms that are left of `term` after all of `taken`.
std::vector<Term> left_of(const Pattern& pattern, const Term& term,
                          const std::vector<Taken>& taken) {
  std::vector<Term> left = {term};
  for (const Taken& other : taken) {
    std::vector<Term> next;
    for (const Term& piece : left) {
      std::optional<std::vector<Term>> pieces = less(pattern, piece, other.term);
      if (!pieces) {
        next.push_back(piece);
        next.back().hidden_by |= other.left;
        continue;
      }
      next.insert(next.end(), pieces->begin(), pieces->end());
    }
    left = std::move(next);
  }
  return left;
}

/// Bits [begin, end).
std::uint64_t bits_between(std::size_t begin, std::size_t end) {
  return key_bits({static_cast<int>(begin), static_cast<int>(end)}, 0);
}

}  // namespace

std::optional<std::vector<Term>> less(const Pattern& pattern, const Term& term, const Term& other) {
  if (!can_be_both(term, other) ||
      (other.grid.clamp != Clamp::kNone && !(term.grid == other.grid)) ||
      (other.where != nullptr && other.where->factors().size() != 1)) {
    return std::nullopt;
  }
  if (is_surely_empty(pattern, both(term, other))) return {{term}};
  Trimmer trimmer(pattern, term);
  trimmer.cut(other.flat, [](Term& piece) -> Zone& { return piece.flat; });
  if (other.grid.axes != 0 && !(term.grid == other.grid)) {
    trimmer.lay_out(other.grid);
    for (int axis = 0; axis < other.grid.axes; ++axis) {
      trimmer.cut(other.grid.zone[axis],
                  [axis](Term& piece) -> Zone& { return piece.grid.zone[axis]; });
    }
  }
  if (other.bounds != nullptr) {
    trimmer.keep_part({.bounds = keys_before(*other.bounds)});
    trimmer.keep_part({.bounds = keys_behind(*other.bounds, pattern.seqlen_k)});
    trimmer.narrow({.bounds = other.bounds});
  }
  if (other.bits != nullptr) {
    trimmer.keep_part({.bits = complement(*other.bits)});
    trimmer.narrow({.bits = other.bits});
  }
  if (other.where != nullptr) trimmer.keep_part({.where = complement(*other.where)});
  return std::move(trimmer).pieces();
}

Pattern disjoint(const Pattern& pattern) {
  Pattern trimmed = pattern;
  for (std::vector<Term>& terms : trimmed.unions) {
    for (Term& term : terms) term.hidden_by = 0;
    std::stable_sort(terms.begin(), terms.end(),
                     [](const Term& a, const Term& b) { return order_of(a) < order_of(b); });
    std::vector<Term> all;
    std::vector<Taken> taken;
    for (const Term& term : terms) {
      if (is_surely_empty(pattern, term)) continue;
      const std::vector<Term> left = left_of(pattern, term, taken);
      const std::size_t before = all.size();
      all.insert(all.end(), left.begin(), left.end());
      if (all.size() > kMostTerms) {
        throw std::invalid_argument("the union has " + std::to_string(all.size()) +
                                    " disjoint terms and more; allowed: at most 64");
      }
      taken.push_back({term, bits_between(before, all.size())});
    }
    terms = std::move(all);
  }
  return trimmed;
}

}  // namespace sparkbench
