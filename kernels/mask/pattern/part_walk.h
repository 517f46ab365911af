// The runs of positions that a box of keys has in the order of a grid.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "kernels/mask/pattern/bit_rows.h"
#include "kernels/mask/pattern/order_boxes.h"
#include "kernels/mask/pattern/order_frame.h"
#include "kernels/mask/pattern/run_lines.h"
#include "kernels/mask/pattern/tiles_of_axis.h"

namespace sparkbench {

/// Of a word that has a bit.
inline Range first_run(std::uint64_t word) {
  const int begin = std::countr_zero(word);
  return {begin, begin + std::countr_one(word >> begin)};
}
inline bool is_one_run(std::uint64_t word) {
  const std::uint64_t lowest = word & (~word + 1);
  return (word & (word + lowest)) == 0;
}

/// Of a box of keys the tiles of each axis, and which coordinates it has on the outermost one.
struct KeysOfAxes {
  Range outermost;
  const TilesOfAxis* tiles[kOrderAxes];

  bool are_none() const {
    return tiles[0]->count == 0 || tiles[1]->count == 0 || tiles[2]->count == 0;
  }
};

/// Calls `add` with rising runs of positions: the parts of 2^log keys that are wanted.
template <class Add>
class PartWalk {
 public:
  /// Keys are a box and, of the flat zone, tokens.
  PartWalk(const OrderFrame& frame, WantedParts wanted, const Range& flat, const Add& add)
      : frame_(frame),
        order_(frame.order),
        log_(frame.log),
        joined_(frame.joined),
        line_(frame.line),
        wanted_(wanted),
        flat_(overlap(flat, {0, frame.tokens})),
        is_flat_cut_(flat_.size() < frame.tokens),
        add_(add) {}

  void walk(const KeysOfAxes& keys) {
    if (flat_.is_empty() || keys.are_none()) return;
    if (!is_flat_cut_) return walk_tiles(keys.tiles);
    const int pitch = frame_.pitch[0];
    const Range& lines = keys.outermost;
    if (flat_.begin < (lines.begin + 1) * pitch && (lines.end - 1) * pitch < flat_.end) {
      return walk_tiles(keys.tiles);
    }
    const Range of_flat = {frame_.plane(flat_.begin), frame_.plane(flat_.end - 1) + 1};
    const Range taken = overlap(lines, of_flat);
    const bool has_room = taken.size() >= 1 << bits_of_axis(order_, 0, log_);
    if (wanted_ == WantedParts::kEach && !has_room) return;  // not for a part
    TilesOfAxis cut;
    find_tiles(order_, log_, wanted_, 0, taken, cut);
    if (cut.count > 0) walk_tiles({&cut, keys.tiles[1], keys.tiles[2]});
  }

 private:
  void walk_tiles(const TilesOfAxis* const (&axes)[kOrderAxes]) {
    const TilesOfAxis& lines = *axes[frame_.next];
    for_tiles(*axes[frame_.outer], [&](int outer, std::uint64_t wanted) {
      for (int i = 0; i < lines.count; ++i) {
        const AxisTiles& group = lines.tiles[i];
        add_group(outer * order_.tiles_of_axis(frame_.next) + group.first, group.end - group.first,
                  wanted & group.wanted, *axes[joined_]);
      }
    });
  }

  template <class Visit>
  static void for_tiles(const TilesOfAxis& of_axis, const Visit& visit) {
    for (int i = 0; i < of_axis.count; ++i) {
      const AxisTiles& tiles = of_axis.tiles[i];
      for (int tile = tiles.first; tile < tiles.end; ++tile) visit(tile, tiles.wanted);
    }
  }

  /// Lines alike, but for those that the flat zone cuts, which are the first and the last.
  void add_group(int line, int count, std::uint64_t wanted, const TilesOfAxis& columns) {
    if (wanted == 0) return;
    if (!is_flat_cut_) return add_whole_lines(line, count, wanted, columns);
    const bool is_one_column =
        columns.count == 1 && columns.tiles[0].end - columns.tiles[0].first == 1;
    if (is_one_column && log_ == kOrderTileBits) {
      return add_cut_column(line, count, wanted, columns.tiles[0]);
    }
    if (count == 1 && log_ == kOrderTileBits) return add_cut_line(line, wanted, columns);
    const int end = line + count;
    for (; line < end && is_cut(line); ++line) add_cut_line(line, wanted, columns);
    int whole_end = end;
    while (line < whole_end && is_cut(whole_end - 1)) --whole_end;
    add_whole_lines(line, whole_end - line, wanted, columns);
    for (line = whole_end; line < end; ++line) add_cut_line(line, wanted, columns);
  }

  bool is_cut(int line) const {
    const GridOrder::TilePlace first = frame_.places.of(line * frame_.tiles_of_line);
    Range span = {0, 1 + (order_.extent[joined_] - 1) * frame_.pitch[joined_]};
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      if (axis == joined_) continue;
      const int begin = order_.begin_of_tile(axis, first.of_axis[axis]) * frame_.pitch[axis];
      span.begin += begin;
      span.end += begin + (order_.tile_extent(axis) - 1) * frame_.pitch[axis];
    }
    return !flat_.contains(span);
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

  /// The same part of each tile of a line. Tokens are those that it owns, of where the axis of the
  /// line is 0.
  struct PartOfLine {
    std::uint64_t bits;
    int first_token, last_token;
    Range on_axis;  // from where a tile begins
    Range taken;    // tiles of whose part the flat zone has as much as is wanted
  };

  PartOfLine part_of_line(int line, int at) const {
    const GridOrder::TilePlace first = frame_.places.of(line * frame_.tiles_of_line);
    PartOfLine part{key_bits_below(1 << log_) << at, 0, 0, {0, 0}, {0, 0}};
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      const int from = at >> order_.shift[axis] & (order_.tile_extent(axis) - 1);
      const int to = from + (1 << bits_of_axis(order_, axis, log_));
      if (axis == joined_) {
        part.on_axis = {from, to};
        continue;
      }
      const int tile = first.of_axis[axis], begin = order_.begin_of_tile(axis, tile);
      part.first_token += most_of(begin + from, tile << order_.bits[axis]) * frame_.pitch[axis];
      part.last_token += (begin + to - 1) * frame_.pitch[axis];
    }
    part.taken = wanted_ == WantedParts::kSome
                     ? Range{ends_before(part, flat_.begin), begins_before(part, flat_.end)}
                     : Range{begins_before(part, flat_.begin), ends_before(part, flat_.end)};
    return part;
  }

  /// How many tiles' parts begin before a token: the first ones, as none begins before the one that
  /// comes before it.
  int begins_before(const PartOfLine& part, int token) const {
    const int last = frame_.tiles_of_line - 1, pitch = frame_.pitch[joined_];
    const int own = most_of(order_.begin_of_tile(joined_, last) + part.on_axis.begin,
                            last << order_.bits[joined_]);
    if (part.first_token + own * pitch < token) return last + 1;
    const int tokens = token - part.first_token - part.on_axis.begin * pitch;
    return tokens <= 0 ? 0 : least_of(frame_.tokens_of_tile.rounded_up(tokens), last);
  }
  /// How many end before it, or with the token before it.
  int ends_before(const PartOfLine& part, int token) const {
    const int last = frame_.tiles_of_line - 1, pitch = frame_.pitch[joined_];
    const int tokens = token - 1 - part.last_token - (part.on_axis.end - 1) * pitch;
    if (order_.begin_of_tile(joined_, last) * pitch <= tokens) return last + 1;
    return tokens < 0 ? 0 : least_of(frame_.tokens_of_tile(tokens) + 1, last);
  }

  /// What add_cut_line() has of lines side by side with one tile each, all at once: tokens rise
  /// with the lines, so that those of which the flat zone has as much as is wanted are neighbours.
  void add_cut_column(int line, int count, std::uint64_t wanted, const AxisTiles& column) {
    const int axis = frame_.next;
    const GridOrder::TilePlace place = frame_.places.of(line * frame_.tiles_of_line + column.first);
    int first_token = 0, last_token = 0;  // of the column's tiles, where `axis` is 0
    for (int other = 0; other < kOrderAxes; ++other) {
      if (other == axis) continue;
      const int tile = place.of_axis[other], begin = order_.begin_of_tile(other, tile);
      first_token += (tile << order_.bits[other]) * frame_.pitch[other];
      last_token += (begin + order_.tile_extent(other) - 1) * frame_.pitch[other];
    }
    const auto is_taken = [&](int tile) {
      const int first = first_token + (tile << order_.bits[axis]) * frame_.pitch[axis];
      const int last =
          last_token +
          (order_.begin_of_tile(axis, tile) + order_.tile_extent(axis) - 1) * frame_.pitch[axis];
      return wanted_ == WantedParts::kSome ? first < flat_.end && flat_.begin <= last
                                           : flat_.begin <= first && last < flat_.end;
    };
    const int from = place.of_axis[axis];
    int begin = from, end = from + count;
    while (begin < end && !is_taken(begin)) ++begin;
    while (begin < end && !is_taken(end - 1)) --end;
    if (begin == end) return;
    const AxisTiles taken = {column.first, column.end, ~std::uint64_t{0}};
    add_whole_lines(line + begin - from, end - begin, wanted & column.wanted, {1, {taken}});
  }

  /// Less the parts that are none of the flat zone's.
  void add_cut_line(int line, std::uint64_t wanted, const TilesOfAxis& columns) {
    if (log_ == kOrderTileBits) {
      const Range taken = part_of_line(line, 0).taken;
      for (int i = 0; i < columns.count; ++i) {
        const AxisTiles& tiles = columns.tiles[i];
        const Range here = overlap({tiles.first, tiles.end}, taken);
        add_tiles(line * line_ + here.begin * kOrderTile, here.size(), wanted & tiles.wanted);
      }
      return;
    }
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
          if (part.taken.contains(tile)) taken |= part.bits;
        }
        taken &= columns.tiles[i].wanted;
        if (taken != alike.wanted || tile != alike.end) {
          add_alike();
          alike = {tile, tile, taken};
        }
        alike.end = tile + 1;
      }
    }
    add_alike();
  }

  const OrderFrame& frame_;
  const GridOrder& order_;
  int log_, joined_, line_;
  WantedParts wanted_;
  Range flat_;
  bool is_flat_cut_;
  const Add& add_;
};

}  // namespace sparkbench
