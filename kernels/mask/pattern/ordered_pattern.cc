#include "kernels/mask/pattern/ordered_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/key_runs.h"
#include "kernels/mask/pattern/order_boxes.h"
#include "kernels/mask/pattern/order_frame.h"

namespace sparkbench {
namespace {

constexpr int kBlockRows = 128, kTileKeys = 64, kWarpRows = 32, kHalfKeys = 32;
/// Of the backward pass.
constexpr int kBlockKeys = 128, kTileRows = 64;

/// What a pair costs of those that a block's tiles have, for loading them, to one that a warp
/// computes.
constexpr double kTileShare = 0.5;

/// What a pair costs of those that blocks of as many keys have in the backward pass, which leave
/// none out: five products for two.
constexpr double kBackwardShare = 2.5;

/// Blocks of rows that work is counted of, where there are more.
constexpr int kCountedBlocks = 16;

/// An order has its own price, so it is to save at least this share.
constexpr double kLeastSaving = 1.0 / 16;

/// Rows of one residue see keys of the same: a pass of its own has those side by side.
bool is_stride(const Grid& grid) {
  return grid.axes == 2 && grid.clamp == Clamp::kNone && grid.extent[1] > 1 &&
         grid.zone[1] == zone_of_offsets(0, 1);
}

/// The grid of all terms that have one; null where they differ, or none has.
const Grid* common_grid(const Pattern& pattern) {
  const Grid* found = nullptr;
  for (const Term& term : pattern.unions.front()) {
    if (!term.is_closed_form() || term.hidden_by != 0) return nullptr;
    const Grid& grid = term.grid;
    if (grid.axes == 0) continue;
    if (is_stride(grid) || (found != nullptr && !has_same_axes(*found, grid))) return nullptr;
    found = &grid;
  }
  return found;
}

bool has_tokens_of(const Grid& grid, int seqlen) {
  std::int64_t tokens = 1;
  for (int axis = 0; axis < grid.axes; ++axis) {
    if (grid.extent[axis] < 1 || grid.extent[axis] > seqlen) return false;
    tokens *= grid.extent[axis];
    if (tokens > seqlen) return false;
  }
  return grid.axes > 1 && tokens == seqlen;
}

/// Of one axis, sums over its tiles of 2^bits rows: of the tiles of keys that they touch, that two
/// neighbours do together, of neighbours that tiles do, and of the half tiles that half tiles do.
struct AxisWork {
  double tiles = 0.0, of_pairs = 0.0, to_pairs = 0.0, halves = 0.0;
};

/// What each row of an axis sees of its keys. Both ends never fall, so some rows see from where
/// the first of them does to where the last does.
class AxisRows {
 public:
  AxisRows(const Grid& grid, int axis)
      : extent_(grid.extent[axis]),
        are_alike_(grid.clamp == Clamp::kNone && is_of_any_offset(grid.zone[axis])) {
    const Zone& zone = grid.zone[axis];
    if (zone.d1 > zone.d0) rows_ = overlap({0, extent_}, {zone.q0, zone.q1});
    const int unlike = are_alike_ ? least_of(rows_.size(), 1) : rows_.size();
    keys_.reserve(static_cast<std::size_t>(unlike));
    for (int row = rows_.begin; row < rows_.begin + unlike; ++row) {
      keys_.push_back(overlap({0, extent_}, axis_keys(grid, axis, row)));
    }
  }

  /// By all tiles of so many rows, a power of two, of those of 2^log keys.
  double tiles_touched(int rows, int log) const {
    if (rows_.is_empty()) return 0.0;
    if (are_alike_) {
      const int row_tiles = (rows_.end - 1) / rows - rows_.begin / rows + 1;
      return row_tiles * touched_by(rows_.begin, rows_.begin, log);
    }
    int tiles = 0;
    for (int row = rows_.begin; row < rows_.end;) {
      const int end = least_of((row & -rows) + rows, rows_.end);
      tiles += touched_by(row, end - 1, log);
      row = end;
    }
    return tiles;
  }

 private:
  int touched_by(int first_row, int last_row, int log) const {
    const int first = keys_of(first_row).begin, last = keys_of(last_row).end - 1;
    return first > last ? 0 : (last >> log) - (first >> log) + 1;
  }
  const Range& keys_of(int row) const { return keys_[static_cast<std::size_t>(row - rows_.begin)]; }

  int extent_;
  bool are_alike_;
  Range rows_ = {0, 0};
  std::vector<Range> keys_;  // of each row, or of the first
};

/// Of each choice of bits that fits.
using AxisWorks = std::array<AxisWork, kOrderTileBits + 1>;
AxisWorks axis_works(const Grid& grid, int axis) {
  AxisWorks works{};
  const AxisRows of_axis(grid, axis);
  for (int bits = 0; bits <= kOrderTileBits; ++bits) {
    const int rows = 1 << bits;
    if (rows > grid.extent[axis]) break;
    const auto index = static_cast<std::size_t>(bits);
    // Halves are the tiles of one bit less.
    works[index] = {of_axis.tiles_touched(rows, bits), of_axis.tiles_touched(2 * rows, bits),
                    of_axis.tiles_touched(rows, bits + 1), bits > 0 ? works[index - 1].tiles : 0.0};
  }
  return works;
}

/// What the grids of a pattern make of each order, axis by axis: flat zones are left out.
class OrderWork {
 public:
  explicit OrderWork(const Pattern& pattern) {
    for (const Term& term : pattern.unions.front()) {
      if (term.grid.axes == 0) continue;
      auto& of_term = work_.emplace_back();
      for (int axis = 0; axis < term.grid.axes; ++axis) {
        const bool is_as_before = axis > 0 &&
                                  term.grid.extent[axis] == term.grid.extent[axis - 1] &&
                                  term.grid.zone[axis] == term.grid.zone[axis - 1];
        of_term[index(axis)] =
            is_as_before ? of_term[index(axis - 1)] : axis_works(term.grid, axis);
      }
      for (int axis = term.grid.axes; axis < kOrderAxes; ++axis) {
        of_term[index(axis)][0] = {1.0, 1.0, 1.0, 0.0};
      }
    }
  }

  /// Pairs that blocks of rows compute in whole tiles, of which two neighbours on axis `paired` are
  /// a block's, and warps in halves of them, which lie on axis `top`.
  double of_rows(const GridOrder& order, int paired, int top) const {
    const double tiles = sum(order, [&](int axis, const AxisWork& work) {
      return axis == paired ? work.of_pairs : work.tiles;
    });
    const double halves = sum(order, [&](int axis, const AxisWork& work) {
      return axis == top ? work.halves : work.tiles;
    });
    return kTileShare * tiles * kBlockRows * kTileKeys + halves * kWarpRows * kHalfKeys;
  }
  /// Tiles of rows that blocks of keys visit in the backward pass, of keys of two such neighbours.
  double of_keys(const GridOrder& order, int paired) const {
    return sum(order, [&](int axis, const AxisWork& work) {
      return axis == paired ? work.to_pairs : work.tiles;
    });
  }

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  /// Over the terms, what `of_axis` takes of each axis, multiplied.
  template <class OfAxis>
  double sum(const GridOrder& order, const OfAxis& of_axis) const {
    double all = 0.0;
    for (const auto& of_term : work_) {
      double tiles = 1.0;
      for (int axis = 0; axis < kOrderAxes; ++axis) {
        tiles *= of_axis(axis, of_term[index(axis)][index(order.bits[axis])]);
      }
      all += tiles;
    }
    return all;
  }

  std::vector<std::array<AxisWorks, kOrderAxes>> work_;
};

/// Bits of r from the lowest on: the innermost axis' first, so that neighbours in memory are
/// neighbours in a tile, and last those of the axis `top`.
void set_shifts(GridOrder& order, int top) {
  int shift = 0;
  for (int axis = kOrderAxes - 1; axis >= 0; --axis) {
    if (axis == top) continue;
    order.shift[axis] = shift;
    shift += order.bits[axis];
  }
  order.shift[top] = shift;
}

/// Calls `visit` with each choice of tiles of the grid's tokens, and with the axis of the highest
/// bit.
template <class Visit>
void for_tiles(const Grid& grid, const Visit& visit) {
  GridOrder order;
  std::copy(grid.extent, grid.extent + grid.axes, order.extent);
  for (order.bits[0] = 0; order.bits[0] <= kOrderTileBits; ++order.bits[0]) {
    for (order.bits[1] = 0; order.bits[0] + order.bits[1] <= kOrderTileBits; ++order.bits[1]) {
      order.bits[2] = kOrderTileBits - order.bits[0] - order.bits[1];
      bool fits = true;
      for (int axis = 0; axis < kOrderAxes; ++axis) {
        fits = fits && order.tile_extent(axis) <= order.extent[axis];
      }
      for (int top = 0; fits && top < kOrderAxes; ++top) {
        if (order.bits[top] == 0) continue;
        set_shifts(order, top);
        visit(order, top);
      }
    }
  }
}

/// Counts the order's tiles first along the axis by which that is the least work, and tells it: as
/// they are counted where no axis is better.
template <class WorkAlong>
double count_along_best_axis(GridOrder& order, const WorkAlong& work_along) {
  double least = work_along(joined_axis(order));
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    if (order.tiles_of_axis(axis) == 1) continue;
    const double work = work_along(axis);
    if (work >= least) continue;
    least = work;
    order.counted_first = axis;
  }
  return least;
}

/// Pairs as OrderWork has them, of all blocks or as some of them say.
class BlockWork {
 public:
  explicit BlockWork(const Pattern& pattern)
      : seqlen_(pattern.seqlen_q),
        blocks_(ceil_divide(pattern.seqlen_q, kBlockRows)),
        of_block_(pattern, 0, kTileKeys, WantedRuns::kTouched),
        of_warp_(pattern, 0, kHalfKeys, WantedRuns::kTouched),
        of_tile_(pattern, 0, kBlockKeys, WantedRuns::kTouched) {}

  /// Blocks that are counted.
  int count() const { return std::min(blocks_, kCountedBlocks); }

  /// Tiles that block `index` of these visits.
  void add_tiles(int index) { tiles_ += tiles_visited(of_block_, rows_of(index)); }
  /// Halves of them that its warps see.
  void add_halves(int index) {
    const Range rows = rows_of(index);
    for (int row = rows.begin; row < rows.end; row += kWarpRows) {
      halves_ += tiles_visited(of_warp_, {row, std::min(row + kWarpRows, rows.end)});
    }
  }

  /// Tiles that blocks of keys have of these rows, by those of the first ones.
  void add_backward(int index) {
    const Range rows = rows_of(index),
                first = {rows.begin, least_of(rows.begin + kTileRows, rows.end)};
    backward_tiles_ += tiles_visited(of_tile_, first) * rows.size() / first.size();
  }

  /// By the tiles and the halves that were added, of which there are more if blocks are left.
  double pairs() const {
    return of_all(kTileShare * kBlockRows * kTileKeys * tiles_ + kWarpRows * kHalfKeys * halves_ +
                  kBackwardShare * kTileRows * kBlockKeys * backward_tiles_);
  }
  /// No fewer than pairs() will be: where warps see all halves of the tiles that were added.
  double most_pairs() const { return of_all((kTileShare + 1.0) * kBlockRows * kTileKeys * tiles_); }

 private:
  double of_all(double pairs) const { return pairs * blocks_ / count(); }
  Range rows_of(int index) const {
    const auto block = static_cast<int>(std::int64_t{blocks_} * (2 * index + 1) / (2 * count()));
    return {block * kBlockRows, std::min((block + 1) * kBlockRows, seqlen_)};
  }
  double tiles_visited(KeyRunFinder& finder, const Range& rows) {
    finder.find(rows, runs_);
    join(runs_.touched);
    return static_cast<double>(size_of(runs_.touched));
  }

  int seqlen_, blocks_;
  KeyRunFinder of_block_, of_warp_, of_tile_;
  KeyRuns runs_;
  double tiles_ = 0.0, halves_ = 0.0, backward_tiles_ = 0.0;
};

bool is_enough(double of_order, double of_sequence) {
  return of_order <= (1.0 - kLeastSaving) * of_sequence;
}

/// Whether it is enough less work, forward, or forward and backward. As little is counted as tells
/// that: mostly of the order no halves, and of the sequence the last blocks, which have most where
/// a pattern is causal.
bool saves_work(const Pattern& ordered, const Pattern& pattern) {
  BlockWork of_order(ordered), of_sequence(pattern);
  for (int i = 0; i < of_order.count(); ++i) of_order.add_tiles(i);
  for (int i = of_sequence.count() - 1; i >= 0; --i) {
    of_sequence.add_tiles(i);
    of_sequence.add_halves(i);
    if (is_enough(of_order.most_pairs(), of_sequence.pairs())) return true;
  }
  for (int i = 0; i < of_order.count(); ++i) of_order.add_halves(i);
  if (is_enough(of_order.pairs(), of_sequence.pairs())) return true;
  for (BlockWork* const work : {&of_order, &of_sequence}) {
    for (int i = 0; i < work->count(); ++i) work->add_backward(i);
  }
  return is_enough(of_order.pairs(), of_sequence.pairs());
}

}  // namespace

Pattern in_order(const Pattern& pattern, const GridOrder& order) {
  return in_order(pattern, order, order);
}

Pattern in_order(const Pattern& pattern, const GridOrder& of_rows, const GridOrder& of_keys) {
  if (!of_rows.has_tiles_of(of_keys)) {
    throw std::invalid_argument("rows and keys have unlike tiles; allowed: the same");
  }
  if (pattern.row_order != nullptr || pattern.seqlen_q != of_rows.tokens() ||
      pattern.seqlen_k != of_rows.tokens() || pattern.row_at != 0 || pattern.key_at != 0) {
    throw std::invalid_argument(
        "an order of " + std::to_string(of_rows.tokens()) + " tokens is none of a pattern of " +
        std::to_string(pattern.seqlen_q) + " x " + std::to_string(pattern.seqlen_k) +
        "; allowed: as many rows and keys, without an order yet");
  }
  Pattern ordered = pattern;
  ordered.seqlen_q = ordered.seqlen_k = of_rows.positions();
  ordered.row_order = std::make_shared<const GridOrder>(of_rows);
  ordered.key_order =
      of_keys == of_rows ? ordered.row_order : std::make_shared<const GridOrder>(of_keys);
  return ordered;
}

std::shared_ptr<const Pattern> pattern_in_order(const Pattern& pattern) {
  if (pattern.unions.size() != 1 || pattern.row_order != nullptr ||
      pattern.seqlen_q != pattern.seqlen_k || pattern.row_at != 0 || pattern.key_at != 0) {
    return nullptr;
  }
  const Grid* const grid = common_grid(pattern);
  if (grid == nullptr || !has_tokens_of(*grid, pattern.seqlen_q)) return nullptr;
  const OrderWork work(pattern);
  GridOrder of_rows;
  double least = std::numeric_limits<double>::infinity();
  for_tiles(*grid, [&](GridOrder order, int top) {
    const double pairs =
        count_along_best_axis(order, [&](int axis) { return work.of_rows(order, axis, top); });
    if (pairs >= least || order.positions() > kLongestSequence) return;
    least = pairs;
    of_rows = order;
  });
  if (of_rows.tokens() != pattern.seqlen_q) return nullptr;
  GridOrder of_keys = of_rows;
  of_keys.counted_first = kOrderAxes - 1;
  count_along_best_axis(of_keys, [&](int axis) { return work.of_keys(of_keys, axis); });
  Pattern ordered = in_order(pattern, of_rows, of_keys);
  if (!saves_work(ordered, pattern)) return nullptr;
  return std::make_shared<const Pattern>(std::move(ordered));
}

std::vector<int> tile_extents(const GridOrder& order) {
  const int axes = order.extent[kOrderAxes - 1] > 1 ? kOrderAxes : kOrderAxes - 1;
  std::vector<int> extents(static_cast<std::size_t>(axes));
  for (int axis = 0; axis < axes; ++axis) {
    extents[static_cast<std::size_t>(axis)] = order.tile_extent(axis);
  }
  return extents;
}

}  // namespace sparkbench
