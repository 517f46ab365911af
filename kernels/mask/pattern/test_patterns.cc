#include "kernels/mask/pattern/test_patterns.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "kernels/mask/pattern/passes.h"
#include "kernels/mask/pattern/test_atoms.h"

namespace sparkbench {
namespace {

Range drawn_range(Random& random, int least, int most) {
  const int a = draw(random, least, most), b = draw(random, least, most);
  return {std::min(a, b), std::max(a, b) + 1};
}

/// Each of the three ranges in half of the cases.
Zone drawn_zone(Random& random, const Range& q, const Range& k) {
  Zone zone;
  const auto may = [&](int least, int most, int& begin, int& end) {
    if (draw(random, 0, 1) == 0) return;
    const Range range = drawn_range(random, least, most);
    begin = range.begin;
    end = range.end;
  };
  may(q.begin, q.end, zone.q0, zone.q1);
  may(k.begin, k.end, zone.k0, zone.k1);
  may(k.begin - q.end, k.end - q.begin, zone.d0, zone.d1);
  return zone;
}

bool in_zone(const Zone& zone, int q, int k) {
  return q >= zone.q0 && q < zone.q1 && k >= zone.k0 && k < zone.k1 && k >= q + zone.d0 &&
         k < q + zone.d1;
}

struct Part {
  std::string name;
  std::vector<Term> terms;
  Predicate sees;
};

Part drawn_zones(Random& random, const Pattern& lengths) {
  const int shift = lengths.row_at;
  Term term;
  term.flat = drawn_zone(random, lengths.row_positions(), lengths.key_positions());
  const Zone flat = term.flat;
  const int axes = draw(random, 0, 3);
  if (axes < 2) {
    return {"a zone", {term}, [=](int row, int key) { return in_zone(flat, row + shift, key); }};
  }
  Grid& grid = term.grid;
  grid.axes = axes;
  const int inner = draw(random, 1, 9), middle = axes == 3 ? draw(random, 1, 7) : 1;
  const int lines = lengths.seqlen_k / (inner * middle) + 1;
  const int extents[3] = {lines, axes == 3 ? middle : inner, inner};
  for (int axis = 0; axis < axes; ++axis) {
    const Range all = {axis == 0 ? -3 : 0, extents[axis]};
    grid.extent[axis] = extents[axis];
    grid.zone[axis] = drawn_zone(random, all, all);
  }
  const Grid drawn = grid;
  return {"a grid", {term}, [=](int row, int key) {
            int q = row + shift, k = key;
            if (!in_zone(flat, q, k)) return false;
            for (int axis = axes - 1; axis > 0; --axis) {
              const int extent = drawn.extent[axis];
              if (!in_zone(drawn.zone[axis], column_of(q, extent), column_of(k, extent))) {
                return false;
              }
              q = line_of(q, extent), k = line_of(k, extent);
            }
            return in_zone(drawn.zone[0], q, k);
          }};
}

Part drawn_bounds(Random& random, const Pattern& lengths) {
  std::vector<int> begin, end;
  for (int row = 0; row < lengths.seqlen_q; ++row) {
    begin.push_back(draw(random, 0, lengths.seqlen_k));
    end.push_back(draw(random, 0, lengths.seqlen_k));
  }
  std::sort(begin.begin(), begin.end());
  std::sort(end.begin(), end.end());
  Term term{.bounds = std::make_shared<const RowBounds>(RowBounds{begin, end})};
  return {"arrays", {term}, [=](int row, int key) {
            const auto at = static_cast<std::size_t>(row);
            return begin[at] <= key && key < end[at];
          }};
}

Part drawn_bits(Random& random, const Pattern& lengths) {
  const auto seed = static_cast<unsigned>(draw(random, 1, 1 << 20));
  const unsigned kept = static_cast<unsigned>(draw(random, 1, 15));
  const Predicate sees = [=](int row, int key) {
    unsigned hash = seed + 2654435761u * static_cast<unsigned>(row / 5 * 613 + key / 3);
    hash ^= hash >> 15;
    return (hash * 2246822519u >> 28) < kept;
  };
  return {"bits", {{.bits = bits_where(lengths.seqlen_q, lengths.seqlen_k, sees)}}, sees};
}

Part drawn_part(Random& random, const Pattern& lengths) {
  switch (draw(random, 0, 9)) {
    case 0:
    case 1:
      return drawn_zones(random, lengths);
    case 2:
      return drawn_bounds(random, lengths);
    case 3:
      return drawn_bits(random, lengths);
    default:
      break;
  }
  const DrawnAtom atom = drawn_atom(random, lengths.seqlen_q, lengths.seqlen_k);
  return {atom.text, parse_pattern(atom.text, lengths.seqlen_q, lengths.seqlen_k).unions[0],
          atom.sees};
}

/// Axes of a grid of 64 to `most` tokens.
std::vector<int> drawn_extents(Random& random, int most) {
  constexpr int kLeast = 64;
  for (;;) {
    std::vector<int> extents(static_cast<std::size_t>(draw(random, 2, 3)));
    int tokens = 1;
    for (int& extent : extents) tokens *= extent = draw(random, 1, extents.size() == 2 ? 30 : 13);
    if (kLeast <= tokens && tokens <= most) return extents;
  }
}

/// Clamped windows on each axis, or a zone on each, and a flat zone in half of the cases.
Part drawn_on_grid(Random& random, const std::vector<int>& extents) {
  Term term;
  Grid& grid = term.grid;
  grid.axes = static_cast<int>(extents.size());
  const bool has_windows = draw(random, 0, 2) > 0;
  std::vector<int> windows;
  int tokens = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const int extent = extents[axis], window = draw(random, 1, extent);
    grid.extent[axis] = extent;
    grid.zone[axis] = has_windows ? zone_of_offsets(-(window / 2), window - window / 2)
                                  : drawn_zone(random, {0, extent}, {0, extent});
    windows.push_back(window);
    tokens *= extent;
  }
  const bool is_turned = has_windows && draw(random, 0, 2) == 0;
  if (has_windows) grid.clamp = Clamp::kRows;
  if (is_turned) grid = transposed(grid);
  if (draw(random, 0, 1) == 0) term.flat = drawn_zone(random, {0, tokens}, {0, tokens});
  const Term drawn = term;
  return {has_windows ? "windows" : "zones on axes", {term}, [=](int row, int key) {
            if (!in_zone(drawn.flat, row, key)) return false;
            int q = is_turned ? key : row, k = is_turned ? row : key;
            for (std::size_t axis = extents.size(); axis-- > 0;) {
              const int extent = extents[axis], at = q % extent, of_key = k % extent;
              const bool is_seen = has_windows
                                       ? is_in_neighbourhood(at, of_key, extent, windows[axis])
                                       : in_zone(drawn.grid.zone[axis], at, of_key);
              if (!is_seen) return false;
              q /= extent, k /= extent;
            }
            return true;
          }};
}

std::string at_pair(const char* what, int row, int key) {
  return std::string(what) + " at row " + std::to_string(row) + ", key " + std::to_string(key);
}

/// The first pair that `is_right` does not say is as wanted.
std::string first_wrong(const char* what, const Picture& want, const Predicate& is_right) {
  for (int row = 0; row < want.rows; ++row) {
    for (int key = 0; key < want.keys; ++key) {
      if (!is_right(row, key)) return at_pair(what, row, key);
    }
  }
  return "";
}

}  // namespace

RandomPattern random_pattern(Random& random, int most) {
  const int seqlen_k = draw(random, 1, most);
  const int seqlen_q = draw(random, 0, 1) == 0 ? seqlen_k : draw(random, 1, most);
  RandomPattern drawn{"", empty_pattern(seqlen_q, seqlen_k), {}};
  const Pattern lengths = drawn.pattern;
  drawn.pattern.unions.clear();
  drawn.name = std::to_string(seqlen_q) + " x " + std::to_string(seqlen_k) + ":";
  const int unions = draw(random, 0, 3) == 0 ? 2 : 1;
  for (int i = 0; i < unions; ++i) {
    std::vector<Predicate> parts;
    std::vector<Term> terms;
    for (int count = draw(random, 1, 4); count > 0; --count) {
      const Part part = drawn_part(random, lengths);
      drawn.name += " " + part.name + (count > 1 ? " +" : "");
      terms.insert(terms.end(), part.terms.begin(), part.terms.end());
      parts.push_back(part.sees);
    }
    drawn.name += i + 1 < unions ? " /" : "";
    drawn.pattern.unions.push_back(terms);
    drawn.of_unions.emplace_back(seqlen_q, seqlen_k, [&](int row, int key) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const Predicate& part) { return part(row, key); });
    });
  }
  return drawn;
}

RandomPattern random_grid_pattern(Random& random, int most) {
  const std::vector<int> extents = drawn_extents(random, most);
  int tokens = 1;
  for (const int extent : extents) tokens *= extent;
  RandomPattern drawn{"grid of " + std::to_string(tokens) + ":", empty_pattern(tokens, tokens), {}};
  std::vector<Predicate> parts;
  for (int count = draw(random, 1, 3); count > 0; --count) {
    const Part part = draw(random, 0, 4) > 0 ? drawn_on_grid(random, extents)
                                             : drawn_part(random, empty_pattern(tokens, tokens));
    drawn.name += " " + part.name + (count > 1 ? " +" : "");
    std::vector<Term>& terms = drawn.pattern.unions[0];
    terms.insert(terms.end(), part.terms.begin(), part.terms.end());
    parts.push_back(part.sees);
  }
  drawn.of_unions.emplace_back(tokens, tokens, [&](int row, int key) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Predicate& part) { return part(row, key); });
  });
  return drawn;
}

std::string sees_differ(const Pattern& pattern, int head, const Picture& want) {
  return first_wrong("sees", want, [&](int row, int key) {
    return sees(pattern, head, row, key) == want.at(row, key);
  });
}

std::string words_differ(const Pattern& pattern, int head, const Picture& want) {
  for (int row = 0; row < want.rows; ++row) {
    // From before the first key to past the last, and no multiple of 64.
    for (int first = -5; first < want.keys; first += row % 2 == 0 ? 64 : 37) {
      const std::uint64_t word = key_word(pattern, head, row, first);
      for (int i = 0; i < kWordKeys; ++i) {
        const int key = first + i;
        const bool is_wanted = key >= 0 && key < want.keys && want.at(row, key);
        if (((word >> i & 1) != 0) != is_wanted) return at_pair("a word", row, key);
      }
    }
  }
  return "";
}

std::string tiles_differ(const TilePlan& plan, const Picture& want) {
  for (int tile = 0; tile < plan.row_tiles(); ++tile) {
    const int key_tiles = (want.keys + plan.keys - 1) / plan.keys;
    std::vector<TileCover> covers(static_cast<std::size_t>(key_tiles), TileCover::kEmpty);
    int last = 0;
    for (const Span& span : plan.spans_of(tile)) {
      if (span.begin < last || span.end <= span.begin || span.end > key_tiles) {
        return "spans of tile " + std::to_string(tile);
      }
      std::fill(covers.begin() + span.begin, covers.begin() + span.end, span.cover);
      last = span.end;
    }
    const int rows_end = std::min((tile + 1) * plan.rows, want.rows);
    for (int row = tile * plan.rows; row < rows_end; ++row) {
      for (int key = 0; key < key_tiles * plan.keys; ++key) {
        const TileCover cover = covers[static_cast<std::size_t>(key / plan.keys)];
        const bool is_visible = key < want.keys && want.at(row, key);
        if (is_visible && cover == TileCover::kEmpty) return at_pair("no tile", row, key);
        if (!is_visible && cover == TileCover::kFull) return at_pair("a full tile", row, key);
      }
    }
  }
  return plan.row_tiles() * plan.rows < want.rows ? "too few tiles of rows" : "";
}

namespace {

/// Whether `term` computes this pair where terms run one after another: it sees the pair, and its
/// `hidden_by` does not exclude it.
bool is_taken_by(const Pattern& pattern, int head, std::size_t term, int row, int key) {
  const std::vector<Term>& terms = pattern.terms(head);
  if (!sees(pattern, terms[term], row, key)) return false;
  for (std::uint64_t left = terms[term].hidden_by; left != 0; left &= left - 1) {
    const auto other = static_cast<std::size_t>(std::countr_zero(left));
    if (sees(pattern, terms[other], row, key)) return false;
  }
  return true;
}

}  // namespace

std::string takers_differ(const Pattern& pattern, int head, const Picture& want) {
  return first_wrong("takers", want, [&](int row, int key) {
    int takers = 0;
    for (std::size_t term = 0; term < pattern.terms(head).size(); ++term) {
      takers += is_taken_by(pattern, head, term, row, key);
    }
    return takers == (want.at(row, key) ? 1 : 0);
  });
}

std::string passes_differ(const Pattern& pattern, int head, const Picture& want) {
  std::vector<int> seen(want.visible.size(), 0);
  for (const PatternPass& pass : passes_of(pattern, head)) {
    for (int row = 0; row < pass.pattern.seqlen_q; ++row) {
      for (int key = 0; key < pass.pattern.seqlen_k; ++key) {
        if (!sees(pass.pattern, 0, row, key)) continue;
        const int token_q = pass.token_of(row), token_k = pass.token_of(key);
        if (token_q >= want.rows || token_k >= want.keys) return at_pair("no token", row, key);
        if (pass.place_of(token_q) != row) return at_pair("place", row, key);
        ++seen[static_cast<std::size_t>(token_q) * static_cast<std::size_t>(want.keys) +
               static_cast<std::size_t>(token_k)];
      }
    }
  }
  return first_wrong("passes", want, [&](int row, int key) {
    return seen[static_cast<std::size_t>(row) * static_cast<std::size_t>(want.keys) +
                static_cast<std::size_t>(key)] == (want.at(row, key) ? 1 : 0);
  });
}

}  // namespace sparkbench
