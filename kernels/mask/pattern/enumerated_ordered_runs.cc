#include <bit>
#include <numeric>

#include "kernels/mask/pattern/enumerated_plan.h"
#include "kernels/mask/pattern/order_boxes.h"
#include "kernels/mask/pattern/ordered_words.h"

namespace sparkbench::enumerated {
namespace {

/// Which parts of tiles are wanted: those that own a token of a box, or all of whose tokens are
/// owned, and in it.
enum class Wanted { kSome, kEach };

/// Tiles side by side on an axis, and of the positions of each those that are wanted as far as the
/// axis tells.
struct EnumeratedTile {
  int first, end;
  std::uint64_t wanted;
};

/// The first tile of some keys, the last, and those between.
struct EnumeratedTiles {
  int count = 0;
  EnumeratedTile tiles[3];

  void add(int first, int end, std::uint64_t wanted) {
    if (first >= end || wanted == 0) return;
    if (count > 0 && tiles[count - 1].end == first && tiles[count - 1].wanted == wanted) {
      tiles[count - 1].end = end;
    } else {
      tiles[count++] = {first, end, wanted};
    }
  }
};

/// Calls `add` with rising runs of positions: the parts of 2^log keys that are wanted.
template <class Add>
class PartWalk {
 public:
  /// Keys are a box and, of the flat zone, tokens.
  PartWalk(const GridOrder& order, int log, Wanted wanted, const Range& flat, Add add)
      : order_(order),
        log_(log),
        wanted_(wanted),
        flat_(overlap(flat, {0, order.tokens()})),
        is_flat_cut_(flat_.size() < order.tokens()),
        add_(add) {}

  void walk(Box keys) {
    if (flat_.is_empty()) return;
    const int line = order_.pitch(0);
    keys.range[0] = overlap(keys.range[0], {flat_.begin / line, (flat_.end - 1) / line + 1});
    EnumeratedTiles of_axis[kOrderAxes];
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      of_axis[axis] = tiles_of(axis, keys.range[axis]);
    }
    const int axes[] = {order_.counted_last(), order_.counted_next(), order_.counted_first};
    // Tiles of the first axis that has several lie side by side.
    int joined = 2;
    while (joined > 0 && order_.tiles_of_axis(axes[joined]) == 1) --joined;
    for_tiles(of_axis[axes[0]], joined == 0, [&](const EnumeratedTile& outer) {
      for_tiles(of_axis[axes[1]], joined == 1, [&](const EnumeratedTile& middle) {
        for_tiles(of_axis[axes[2]], joined == 2, [&](const EnumeratedTile& inner) {
          const EnumeratedTile* const tiles[] = {&outer, &middle, &inner};
          GridOrder::TilePlace first;
          for (int i = 0; i < kOrderAxes; ++i) first.of_axis[axes[i]] = tiles[i]->first;
          add_tiles(order_.tile_at(first), tiles[joined]->end - tiles[joined]->first,
                    outer.wanted & middle.wanted & inner.wanted);
        });
      });
    });
  }

 private:
  /// One by one, unless they are joined.
  template <class Visit>
  static void for_tiles(const EnumeratedTiles& of_axis, bool are_joined, const Visit& visit) {
    for (int i = 0; i < of_axis.count; ++i) {
      EnumeratedTile tiles = of_axis.tiles[i];
      const int end = tiles.end;
      for (; tiles.first < end; tiles.first = tiles.end) {
        tiles.end = are_joined ? end : tiles.first + 1;
        visit(tiles);
      }
    }
  }

  EnumeratedTiles tiles_of(int axis, const Range& keys) const {
    EnumeratedTiles found;
    if (keys.is_empty()) return found;
    const int first = keys.begin >> order_.bits[axis], last = (keys.end - 1) >> order_.bits[axis];
    found.add(first, first + 1, wanted_of_tile(axis, first, keys));
    found.add(first + 1, last, ~std::uint64_t{0});
    if (last > first) found.add(last, last + 1, wanted_of_tile(axis, last, keys));
    return found;
  }

  std::uint64_t wanted_of_tile(int axis, int tile, const Range& keys) const {
    const int begin = order_.begin_of_tile(axis, tile), own = tile << order_.bits[axis];
    const Range tokens = overlap(keys, {most_of(begin, own), begin + order_.tile_extent(axis)});
    const int size = 1 << bits_of_axis(order_, axis, log_);
    const int from = tokens.begin - begin, to = tokens.end - begin;
    if (wanted_ == Wanted::kSome) {
      return positions_on_axis(order_, axis, {from & -size, (to + size - 1) & -size});
    }
    return positions_on_axis(order_, axis, {(from + size - 1) & -size, to & -size});
  }

  void add_tiles(int tile, int count, std::uint64_t wanted) {
    if (wanted == 0) return;
    if (!is_flat_cut_ && wanted == ~std::uint64_t{0}) {
      add_(Range{tile * kOrderTile, (tile + count) * kOrderTile});
      return;
    }
    for (int i = 0; i < count; ++i) add_parts((tile + i) * kOrderTile, wanted);
  }

  void add_parts(int position, std::uint64_t wanted) {
    if (is_flat_cut_) {
      const Range span = token_span(order_, box_of(order_, position, kOrderTileBits).all);
      if (!flat_.contains(span))
        wanted = overlap(flat_, span).is_empty() ? 0 : cut(position, wanted);
    }
    while (wanted != 0) {
      const int begin = std::countr_zero(wanted), size = std::countr_one(wanted >> begin);
      add_(Range{position + begin, position + begin + size});
      wanted &= ~(key_bits_below(size) << begin);
    }
  }

  /// Less the parts that are none of the flat zone's.
  std::uint64_t cut(int position, std::uint64_t wanted) const {
    std::uint64_t left = 0;
    for (int part = 0; part < kOrderTile; part += 1 << log_) {
      if ((wanted >> part & 1) == 0) continue;
      const Range span = token_span(order_, box_of(order_, position + part, log_).owned);
      const bool is_taken =
          wanted_ == Wanted::kSome ? !overlap(flat_, span).is_empty() : flat_.contains(span);
      if (is_taken) left |= key_bits_below(1 << log_) << part;
    }
    return left;
  }

  const GridOrder& order_;
  int log_;
  Wanted wanted_;
  Range flat_;
  bool is_flat_cut_;
  Add add_;
};

/// Boxes of the tokens that rows own.
struct RowBoxes {
  std::vector<Box> boxes;
  bool own_all = true;
  Range span = {kUnbounded, -kUnbounded};  // from the first token to the last
};

/// `a` with `b` behind it, if they are a box together.
bool is_joined(Box& a, const Box& b) {
  int joint = -1;
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    const Range &left = a.range[axis], &right = b.range[axis];
    if (left.begin == right.begin && left.end == right.end) continue;
    if (joint >= 0 || left.end != right.begin) return false;
    joint = axis;
  }
  if (joint >= 0) a.range[joint].end = b.range[joint].end;
  return joint >= 0;
}

RowBoxes boxes_of_rows(const GridOrder& order, const Range& rows) {
  RowBoxes found;
  for (int at = rows.begin; at < rows.end;) {
    const int log = log_of_part(at, rows.end);
    const OrderBox box = box_of(order, at, log);
    at += 1 << log;
    found.own_all = found.own_all && owns_all(box);
    if (is_empty(box.owned)) continue;
    const Range span = token_span(order, box.owned);
    found.span = {std::min(found.span.begin, span.begin), std::max(found.span.end, span.end)};
    if (found.boxes.empty() || !is_joined(found.boxes.back(), box.owned)) {
      found.boxes.push_back(box.owned);
    }
  }
  return found;
}

/// Adds a run, or lengthens the last.
void add_run(const Range& run, std::vector<Range>& runs) {
  if (!runs.empty() && runs.back().begin <= run.begin && run.begin <= runs.back().end) {
    runs.back().end = most_of(runs.back().end, run.end);
  } else {
    runs.push_back(run);
  }
}

}  // namespace

void add_enumerated_ordered_runs(const Pattern& pattern, const Term& term, const Range& rows,
                                 int tile_keys, EnumeratedRuns& runs) {
  const GridOrder& order = *pattern.key_order;
  const Grid grid = grid_of_order(order, term);
  const RowBoxes of_rows = boxes_of_rows(*pattern.row_order, rows);
  if (of_rows.boxes.empty()) return;
  // Parts that no tile begins or ends within.
  const int log = std::countr_zero(static_cast<unsigned>(std::gcd(tile_keys, kOrderTile)));
  Box common;
  for (int axis = 0; axis < kOrderAxes; ++axis) common.range[axis] = {0, order.extent[axis]};
  const bool is_part = tile_keys == 1 << log;
  const auto tile_of = [&](int key) { return is_part ? key >> log : key / tile_keys; };
  const auto add_touched = [&](const Range& keys) {
    add_run({tile_of(keys.begin), tile_of(keys.end - 1) + 1}, runs.touched);
  };
  const auto add_full = [&](const Range& keys) { add_run(keys, runs.full); };
  for (const Box& box : of_rows.boxes) {
    const Range flat = hull(term.flat, token_span(order, box));
    PartWalk(order, log, Wanted::kSome, flat, add_touched).walk(inside(order, hull(grid, box)));
    const Box every = core(grid, box);
    for (int axis = 0; axis < grid.axes; ++axis) {
      common.range[axis] = overlap(common.range[axis], every.range[axis]);
    }
  }
  if (!of_rows.own_all) return;
  PartWalk(order, log, Wanted::kEach, core(term.flat, of_rows.span), add_full).walk(common);
}

}  // namespace sparkbench::enumerated
