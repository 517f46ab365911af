#include "kernels/mask/pattern/order_frame.h"

#include <algorithm>
#include <bit>

#include "kernels/mask/pattern/order_boxes.h"

namespace sparkbench {
namespace {

/// Makes `a` what it is with `b` behind it, if that is a box.
bool join_boxes(Box& a, const Box& b) {
  int joint = -1;
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    const Range &left = a.range[axis], &right = b.range[axis];
    if (are_same(left, right)) continue;
    if (joint >= 0 || left.end != right.begin) return false;
    joint = axis;
  }
  if (joint >= 0) a.range[joint].end = b.range[joint].end;
  return joint >= 0;
}

/// Of the axes but `joined`, the one whose lines follow each other: the other one has one tile, or
/// is counted behind it.
int next_axis(const GridOrder& order, int joined) {
  const int last = order.counted_last();
  if (joined == last) return order.counted_next();
  const int next = joined == order.counted_first ? order.counted_next() : order.counted_first;
  return order.tiles_of_axis(next) > 1 ? next : last;
}

}  // namespace

OrderFrame::OrderFrame(const GridOrder& of_order, int tile_keys)
    : order(of_order),
      places(of_order),
      log(std::min(std::countr_zero(static_cast<unsigned>(tile_keys)), kOrderTileBits)),
      pitch{of_order.pitch(0), of_order.pitch(1), of_order.pitch(2)},
      joined(joined_axis(of_order)),
      next(next_axis(of_order, joined)),
      outer(kOrderAxes - joined - next),
      tiles_of_line(of_order.tiles_of_axis(joined)),
      line(tiles_of_line * kOrderTile),
      tokens_of_tile(pitch[joined] << of_order.bits[joined]),
      plane(pitch[0]) {}

/// Whole tiles side by side, which are one box; false where rows are none.
bool OrderFrame::find_tiles_of_line(const Range& rows, OrderedRows& found) const {
  if (((rows.begin | rows.end) & (kOrderTile - 1)) != 0) return false;
  const GridOrder::TilePlace tile = places.of(rows.begin >> kOrderTileBits);
  const int others = (rows.size() >> kOrderTileBits) - 1;
  if (tile.of_axis[joined] + others >= tiles_of_line) return false;
  Box& box = found.boxes.emplace_back();
  int not_owned = 0, first_token = 0, last_token = 0;
  for (int axis = 0; axis < kOrderAxes; ++axis) {
    const int first = tile.of_axis[axis], last = axis == joined ? first + others : first;
    const int last_begin = order.begin_of_tile(axis, last),
              end = last_begin + order.tile_extent(axis);
    const int own = first << order.bits[axis];
    box.range[axis] = {own, end};
    not_owned += (last << order.bits[axis]) - last_begin;
    first_token += own * pitch[axis];
    last_token += (end - 1) * pitch[axis];
  }
  found.own_all = not_owned == 0;
  found.span = {first_token, last_token + 1};
  return true;
}

void OrderFrame::find_boxes(const Range& rows, OrderedRows& found) const {
  found.boxes.clear();
  if (find_tiles_of_line(rows, found)) return;
  int not_owned = 0, first_token = kUnbounded, last_token = -kUnbounded;
  for (int at = rows.begin; at < rows.end;) {
    const int of_part = log_of_part(at, rows.end);
    const GridOrder::TilePlace tile = places.of(at >> kOrderTileBits);
    Box& owned = found.boxes.emplace_back();
    int first = 0, last = 0;
    bool is_none = false;
    for (int axis = 0; axis < kOrderAxes; ++axis) {
      const int from = at >> order.shift[axis] & (order.tile_extent(axis) - 1);
      const int begin = order.begin_of_tile(axis, tile.of_axis[axis]) + from;
      const int end = begin + (1 << bits_of_axis(order, axis, of_part));
      const int own = most_of(begin, tile.of_axis[axis] << order.bits[axis]);
      owned.range[axis] = {own, end};
      not_owned += own - begin;
      is_none |= end <= own;
      first += own * pitch[axis];
      last += (end - 1) * pitch[axis];
    }
    at += 1 << of_part;
    if (is_none) {
      found.boxes.pop_back();
      continue;
    }
    first_token = least_of(first_token, first);
    last_token = most_of(last_token, last);
    const std::size_t count = found.boxes.size();
    if (count > 1 && join_boxes(found.boxes[count - 2], owned)) found.boxes.pop_back();
  }
  found.own_all = not_owned == 0;
  found.span = {first_token, last_token + 1};
}

}  // namespace sparkbench
