#include "kernels/mask/pattern/ordered_runs.h"

#include <algorithm>
#include <bit>
#include <span>

#include "kernels/mask/pattern/order_boxes.h"
#include "kernels/mask/pattern/ordered_words.h"

namespace sparkbench {
namespace {

/// Which parts of tiles are wanted: those that own a token of a box, or all of whose tokens are
/// owned, and in it.
enum class Wanted { kSome, kEach };

/// Of a word that has a bit.
Range first_run(std::uint64_t word) {
  const int begin = std::countr_zero(word);
  return {begin, begin + std::countr_one(word >> begin)};
}
bool is_one_run(std::uint64_t word) {
  const std::uint64_t lowest = word & (~word + 1);
  return (word & (word + lowest)) == 0;
}

/// Of a tile of an axis, of which some are keys, the parts of 2^log positions that are wanted.
std::uint64_t wanted_of_tile(const GridOrder& order, int log, Wanted wanted, int axis, int tile,
                             const Range& keys) {
  const int begin = order.begin_of_tile(axis, tile), own = tile << order.bits[axis];
  const Range tokens = overlap(keys, {most_of(begin, own), begin + order.tile_extent(axis)});
  const int from = tokens.begin - begin, to = tokens.end - begin;
  const int size = 1 << bits_of_axis(order, axis, log);
  if (size == order.tile_extent(axis)) {
    const bool is_whole = wanted == Wanted::kSome || (from == 0 && to == size);
    return is_whole ? ~std::uint64_t{0} : 0;
  }
  if (wanted == Wanted::kSome) {
    return positions_on_axis(order, axis, {from & -size, (to + size - 1) & -size});
  }
  return positions_on_axis(order, axis, {(from + size - 1) & -size, to & -size});
}

/// Keys are within the axis.
TilesOfAxis tiles_of(const GridOrder& order, int log, Wanted wanted, int axis, const Range& keys) {
  TilesOfAxis found;
  if (keys.is_empty()) return found;
  const int first = keys.begin >> order.bits[axis], last = (keys.end - 1) >> order.bits[axis];
  found.add(first, first + 1, wanted_of_tile(order, log, wanted, axis, first, keys));
  found.add(first + 1, last, ~std::uint64_t{0});
  if (last > first) {
    found.add(last, last + 1, wanted_of_tile(order, log, wanted, axis, last, keys));
  }
  return found;
}

/// A box of keys, and of each of its axes the tiles.
struct KeysOfAxes {
  Box box;
  const TilesOfAxis* tiles[kOrderAxes];

  void set(int axis, const Range& range, const TilesOfAxis& of_axis) {
    box.range[axis] = range;
    tiles[axis] = &of_axis;
  }
};

/// Calls `add` with rising runs of positions: the parts of 2^log keys that are wanted.
template <class Add>
class PartWalk {
 public:
  /// Keys are a box and, of the flat zone, tokens.
  PartWalk(const OrderFrame& frame, Wanted wanted, const Range& flat, const Add& add)
      : order_(frame.order),
        log_(frame.log),
        joined_(frame.joined),
        line_(frame.line),
        wanted_(wanted),
        flat_(overlap(flat, {0, frame.tokens})),
        is_flat_cut_(flat_.size() < frame.tokens),
        add_(add) {}

  /// Keys are a box, of which each axis has its range and its tiles.
  void walk(const KeysOfAxes& keys) {
    if (flat_.is_empty() || is_empty(keys.box)) return;
    const TilesOfAxis* axes[] = {keys.tiles[0], keys.tiles[1], keys.tiles[2]};
    TilesOfAxis cut;
    const int pitch = order_.pitch(0);
    const Range& lines = keys.box.range[0];
    if (is_flat_cut_ && !flat_.contains(Range{lines.begin * pitch, lines.end * pitch})) {
      const Range of_flat = {flat_.begin / pitch, (flat_.end - 1) / pitch + 1};
      cut = tiles_of(order_, log_, wanted_, 0, overlap(lines, of_flat));
      axes[0] = &cut;
    }
    walk_tiles(axes);
  }

 private:
  void walk_tiles(const TilesOfAxis* const (&axes)[kOrderAxes]) {
    const std::uint64_t within = wanted_within(axes);
    if (joined_ == 0) return add_group(0, 1, within, *axes[0]);
    const TilesOfAxis& lines = *axes[joined_ - 1];
    for_tiles(joined_ == 1 ? kOneTile : *axes[0], [&](int outer, std::uint64_t wanted) {
      for (int i = 0; i < lines.count; ++i) {
        const AxisTiles& group = lines.tiles[i];
        add_group(outer * order_.tiles_of_axis(joined_ - 1) + group.first, group.end - group.first,
                  wanted & group.wanted & within, *axes[joined_]);
      }
    });
  }

  static constexpr TilesOfAxis kOneTile = {1, {{0, 1, ~std::uint64_t{0}}}};

  template <class Visit>
  static void for_tiles(const TilesOfAxis& of_axis, const Visit& visit) {
    for (int i = 0; i < of_axis.count; ++i) {
      const AxisTiles& tiles = of_axis.tiles[i];
      for (int tile = tiles.first; tile < tiles.end; ++tile) visit(tile, tiles.wanted);
    }
  }

  /// As far as the axes within `joined_` tell, each of one tile.
  std::uint64_t wanted_within(const TilesOfAxis* const (&axes)[kOrderAxes]) const {
    std::uint64_t wanted = ~std::uint64_t{0};
    for (int axis = joined_ + 1; axis < kOrderAxes; ++axis) {
      wanted &= axes[axis]->count > 0 ? axes[axis]->tiles[0].wanted : 0;
    }
    return wanted;
  }

  /// Lines alike, but for those that the flat zone cuts, which are the first and the last.
  void add_group(int line, int count, std::uint64_t wanted, const TilesOfAxis& columns) {
    if (wanted == 0) return;
    int end = line + count;
    for (; line < end && is_cut(line); ++line) add_cut_line(line, wanted, columns);
    int whole_end = end;
    while (line < whole_end && is_cut(whole_end - 1)) --whole_end;
    add_whole_lines(line, whole_end - line, wanted, columns);
    for (line = whole_end; line < end; ++line) add_cut_line(line, wanted, columns);
  }

  bool is_cut(int line) const {
    if (!is_flat_cut_) return false;
    Box box = box_of(order_, line * line_, kOrderTileBits).all;
    box.range[joined_] = {0, order_.extent[joined_]};
    return !flat_.contains(token_span(order_, box));
  }

  void add_whole_lines(int line, int count, std::uint64_t wanted, const TilesOfAxis& columns) {
    const Range run = run_of_line(wanted, columns);
    if (!run.is_empty()) {
      const int at = line * line_;
      return add_(RunLines{{at + run.begin, at + run.end}, line_, count});
    }
    for (int end = line + count; line < end; ++line) {
      for (int i = 0; i < columns.count; ++i) {
        const AxisTiles& tiles = columns.tiles[i];
        add_tiles(line * line_ + tiles.first * kOrderTile, tiles.end - tiles.first,
                  wanted & tiles.wanted);
      }
    }
  }

  /// Counted from the line's first position; none where the line has several, or may have.
  Range run_of_line(std::uint64_t wanted, const TilesOfAxis& columns) const {
    Range run = {0, 0};
    for (int i = 0; i < columns.count; ++i) {
      const AxisTiles& tiles = columns.tiles[i];
      const std::uint64_t of_tile = wanted & tiles.wanted;
      if (of_tile == 0) continue;
      const bool is_whole = of_tile == ~std::uint64_t{0};
      const Range in_tile = is_whole ? Range{0, kOrderTile} : first_run(of_tile);
      if (!is_whole && (tiles.end - tiles.first > 1 || !is_one_run(of_tile))) return {0, 0};
      const Range next = {tiles.first * kOrderTile + in_tile.begin,
                          (tiles.end - 1) * kOrderTile + in_tile.end};
      if (!run.is_empty() && next.begin != run.end) return {0, 0};
      run = {run.is_empty() ? next.begin : run.begin, next.end};
    }
    return run;
  }

  /// Tiles side by side, alike.
  void add_tiles(int position, int count, std::uint64_t wanted) {
    if (wanted == 0) return;
    if (is_one_run(wanted)) {
      const Range run = first_run(wanted);
      return add_(RunLines{{position + run.begin, position + run.end}, kOrderTile, count});
    }
    for (int i = 0; i < count; ++i, position += kOrderTile) {
      for (std::uint64_t left = wanted; left != 0;) {
        const Range run = first_run(left);
        add_(RunLines{{position + run.begin, position + run.end}});
        left &= ~(key_bits_below(run.size()) << run.begin);
      }
    }
  }

  /// A part of the tiles of a line. Tokens are those of where the axis of the line is 0.
  struct PartOfLine {
    std::uint64_t bits;
    int first_token, last_token;
    Range on_axis;  // from where a tile begins
  };

  PartOfLine part_of_line(int line, int part) const {
    Box owned = box_of(order_, line * line_ + part, log_).owned;
    const int begin = part >> order_.shift[joined_] & (order_.tile_extent(joined_) - 1);
    owned.range[joined_] = {0, 1};
    const Range tokens = token_span(order_, owned);
    return {key_bits_below(1 << log_) << part,
            tokens.begin,
            tokens.end - 1,
            {begin, begin + (1 << bits_of_axis(order_, joined_, log_))}};
  }

  /// Whether the flat zone has as many of the tokens that a part of a tile owns as are wanted.
  bool is_taken(const PartOfLine& part, int tile) const {
    const int begin = order_.begin_of_tile(joined_, tile), pitch = order_.pitch(joined_);
    const int own = most_of(begin + part.on_axis.begin, tile << order_.bits[joined_]);
    const Range span = {part.first_token + own * pitch,
                        part.last_token + (begin + part.on_axis.end - 1) * pitch + 1};
    return wanted_ == Wanted::kSome ? !overlap(flat_, span).is_empty() : flat_.contains(span);
  }

  /// Less the parts that are none of the flat zone's.
  void add_cut_line(int line, std::uint64_t wanted, const TilesOfAxis& columns) {
    PartOfLine parts[kOrderTile];
    int count = 0;
    for (int part = 0; part < kOrderTile; part += 1 << log_) {
      if ((wanted >> part & 1) != 0) parts[count++] = part_of_line(line, part);
    }
    AxisTiles alike = {0, 0, 0};
    const auto add_alike = [&] {
      add_tiles(line * line_ + alike.first * kOrderTile, alike.end - alike.first, alike.wanted);
    };
    for (int i = 0; i < columns.count; ++i) {
      for (int tile = columns.tiles[i].first; tile < columns.tiles[i].end; ++tile) {
        std::uint64_t taken = 0;
        for (const PartOfLine& part : std::span(parts, static_cast<std::size_t>(count))) {
          const bool is_wanted = (columns.tiles[i].wanted & part.bits) != 0;
          if (is_wanted && is_taken(part, tile)) taken |= part.bits;
        }
        if (taken != alike.wanted || tile != alike.end) {
          add_alike();
          alike = {tile, tile, taken};
        }
        alike.end = tile + 1;
      }
    }
    add_alike();
  }

  const GridOrder& order_;
  int log_, joined_, line_;
  Wanted wanted_;
  Range flat_;
  bool is_flat_cut_;
  const Add& add_;
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

}  // namespace

void find_boxes(const GridOrder& order, const Range& rows, OrderedRows& found) {
  found.boxes.clear();
  found.own_all = true;
  found.span = {kUnbounded, -kUnbounded};
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
}

OrderFrame::OrderFrame(const GridOrder& of_order, int tile_keys)
    : order(of_order),
      log(std::min(std::countr_zero(static_cast<unsigned>(tile_keys)), kOrderTileBits)) {
  while (joined > 0 && order.tiles_of_axis(joined) == 1) --joined;
  line = order.tiles_of_axis(joined) * kOrderTile;
}

void TilesOfAxis::add(int first, int end, std::uint64_t wanted) {
  if (first >= end || wanted == 0) return;
  if (count > 0 && tiles[count - 1].end == first && tiles[count - 1].wanted == wanted) {
    tiles[count - 1].end = end;
  } else {
    tiles[count++] = {first, end, wanted};
  }
}

OrderedRuns::OrderedRuns(const GridOrder& order, const Term& term, int tile_keys)
    : frame_(order, tile_keys),
      flat_(term.flat),
      grid_(grid_of_order(order, term)),
      tile_(tile_keys) {
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    of_axis_[axis].resize(static_cast<std::size_t>(order.tiles_of_axis(axis)));
  }
}

const OrderedRuns::OfAxis& OrderedRuns::of_axis(int axis, const Range& rows) {
  OfAxis& found = of_axis_[axis][static_cast<std::size_t>(rows.begin >> frame_.order.bits[axis])];
  if (found.rows.begin == rows.begin && found.rows.end == rows.end) return found;
  const Range all = {0, frame_.order.extent[axis]};
  const bool has_axis = axis < grid_.axes;
  found.rows = rows;
  found.hull = has_axis ? overlap(axis_hull(grid_, axis, rows), all) : all;
  found.core = has_axis ? overlap(axis_core(grid_, axis, rows), all) : all;
  found.some = tiles_of(frame_.order, frame_.log, Wanted::kSome, axis, found.hull);
  found.each = tiles_of(frame_.order, frame_.log, Wanted::kEach, axis, found.core);
  return found;
}

void OrderedRuns::add_touched(const RunLines& keys, KeyRuns& runs) const {
  if (keys.count == 1 || tile_.divides(keys.pitch)) {
    add_lines({parts_touched(keys.first, tile_), tile_(keys.pitch), keys.count}, runs.touched);
  } else {
    for (int i = 0; i < keys.count; ++i) add_run(parts_touched(keys.line(i), tile_), runs.touched);
  }
}

void OrderedRuns::add(const OrderedRows& rows, KeyRuns& runs) {
  const auto touched = [&](const RunLines& keys) { add_touched(keys, runs); };
  const auto full = [&](const RunLines& keys) { add_lines(keys, runs.full); };
  KeysOfAxes some, each;
  for (const Box& box : rows.boxes) {
    const bool is_first = &box == &rows.boxes.front();
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      const OfAxis& seen = of_axis(axis, box.range[axis]);
      some.set(axis, seen.hull, seen.some);
      each.set(axis, is_first ? seen.core : overlap(each.box.range[axis], seen.core), seen.each);
    }
    const Range flat = hull(flat_, token_span(frame_.order, box));
    PartWalk(frame_, Wanted::kSome, flat, touched).walk(some);
  }
  if (rows.boxes.empty() || !rows.own_all || is_empty(each.box)) return;
  TilesOfAxis of_common[kOrderAxes];
  for (int axis = 0; rows.boxes.size() > 1 && axis < kOrderAxes; ++axis) {
    of_common[axis] = tiles_of(frame_.order, frame_.log, Wanted::kEach, axis, each.box.range[axis]);
    each.tiles[axis] = &of_common[axis];
  }
  PartWalk(frame_, Wanted::kEach, core(flat_, rows.span), full).walk(each);
}

}  // namespace sparkbench
