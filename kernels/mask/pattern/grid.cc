#include "kernels/mask/pattern/grid.h"

#include <algorithm>

namespace sparkbench {
namespace {

/// The window of row q on an axis that clamps rows.
Range window_of_row(const Zone& zone, int extent, int q) {
  const int keys = zone.d1 - zone.d0;
  const int begin = std::clamp(q + zone.d0, 0, extent - keys);
  return overlap({begin, begin + keys}, {zone.k0, zone.k1});
}

/// The transposed question: the rows in whose window key `q` is.
Range rows_with_key(const Zone& zone, int extent, int q) {
  const Zone original = transposed(zone);
  const int keys = original.d1 - original.d0, last_begin = extent - keys;
  // A window that begins at or before q, and after q - keys.
  const int end = q < 0 ? -kUnbounded : q >= last_begin ? kUnbounded : q - original.d0 + 1;
  const int after = q - keys + 1;
  const int begin = after <= 0           ? -kUnbounded
                    : after > last_begin ? kUnbounded
                                         : after - original.d0;
  return overlap({begin, end}, {zone.k0, zone.k1});
}

/// The pieces of [begin, end) over axes (?, extent): a part of a line, whole lines, another part.
struct Lines {
  Range lines, columns;
};
int split_lines(const Range& positions, int extent, Lines (&pieces)[3]) {
  const int first = floor_divide(positions.begin, extent);
  const int from = positions.begin - first * extent;
  if (positions.size() <= extent - from) {
    pieces[0] = {{first, first + 1}, {from, from + positions.size()}};
    return 1;
  }
  const int last = floor_divide(positions.end - 1, extent);
  const int to = positions.end - last * extent;
  int count = 0;
  const int whole_begin = from == 0 ? first : first + 1, whole_end = to == extent ? last + 1 : last;
  if (from != 0) pieces[count++] = {{first, first + 1}, {from, extent}};
  if (whole_begin < whole_end) pieces[count++] = {{whole_begin, whole_end}, {0, extent}};
  if (to != extent) pieces[count++] = {{last, last + 1}, {0, to}};
  return count;
}

}  // namespace

bool Grid::operator==(const Grid& other) const {
  return has_same_axes(*this, other) && clamp == other.clamp &&
         std::equal(zone, zone + axes, other.zone);
}

Point coordinates(const Grid& grid, int position) {
  Point point;
  for (int axis = grid.axes - 1; axis > 0; --axis) {
    const int above = floor_divide(position, grid.extent[axis]);
    point.at[axis] = position - above * grid.extent[axis];
    position = above;
  }
  point.at[0] = position;
  return point;
}

bool has_same_axes(const Grid& a, const Grid& b) {
  return a.axes == b.axes && std::equal(a.extent, a.extent + a.axes, b.extent);
}

bool sees(const Grid& grid, int q, int k) {
  const Point row = coordinates(grid, q), key = coordinates(grid, k);
  for (int axis = 0; axis < grid.axes; ++axis) {
    const Zone& zone = grid.zone[axis];
    const int at = row.at[axis];
    if (at < zone.q0 || at >= zone.q1) return false;
    if (!axis_keys(grid, axis, at).contains(key.at[axis])) return false;
  }
  return true;
}

Range axis_keys(const Grid& grid, int axis, int q) {
  const Zone& zone = grid.zone[axis];
  switch (grid.clamp) {
    case Clamp::kRows:
      return window_of_row(zone, grid.extent[axis], q);
    case Clamp::kKeys:
      return rows_with_key(zone, grid.extent[axis], q);
    case Clamp::kNone:
      break;
  }
  return zone.keys(q);
}

Range axis_hull(const Grid& grid, int axis, const Range& rows) {
  const Zone& zone = grid.zone[axis];
  const Range inside = overlap(rows, {zone.q0, zone.q1});
  if (inside.is_empty() || zone.d1 <= zone.d0) return {0, 0};
  return {axis_keys(grid, axis, inside.begin).begin, axis_keys(grid, axis, inside.end - 1).end};
}

Range axis_core(const Grid& grid, int axis, const Range& rows) {
  const Zone& zone = grid.zone[axis];
  if (rows.begin < zone.q0 || zone.q1 < rows.end) return {0, 0};
  return {axis_keys(grid, axis, rows.end - 1).begin, axis_keys(grid, axis, rows.begin).end};
}

Box hull(const Grid& grid, const Box& rows) {
  Box keys;
  for (int axis = 0; axis < grid.axes; ++axis) {
    keys.range[axis] = axis_hull(grid, axis, rows.range[axis]);
    if (axis > 0) keys.range[axis] = overlap(keys.range[axis], {0, grid.extent[axis]});
  }
  return keys;
}

Box core(const Grid& grid, const Box& rows) {
  Box keys;
  for (int axis = 0; axis < grid.axes; ++axis) {
    keys.range[axis] = axis_core(grid, axis, rows.range[axis]);
    if (axis > 0) keys.range[axis] = overlap(keys.range[axis], {0, grid.extent[axis]});
  }
  return keys;
}

bool is_empty(const Grid& grid, const Box& box) {
  return std::any_of(box.range, box.range + grid.axes,
                     [](const Range& range) { return range.is_empty(); });
}

Grid transposed(const Grid& grid) {
  Grid other = grid;
  for (int axis = 0; axis < grid.axes; ++axis) other.zone[axis] = transposed(grid.zone[axis]);
  if (grid.clamp != Clamp::kNone) {
    other.clamp = grid.clamp == Clamp::kRows ? Clamp::kKeys : Clamp::kRows;
  }
  return other;
}

Boxes boxes_of(const Grid& grid, const Range& positions) {
  Boxes boxes;
  if (positions.is_empty()) return boxes;
  if (grid.axes < 2) {
    boxes.box[boxes.count++].range[0] = positions;
    return boxes;
  }
  Lines outer[3], inner[3];
  const int last = grid.axes - 1;
  const int count = split_lines(positions, grid.extent[last], inner);
  for (int i = 0; i < count; ++i) {
    if (last == 1) {
      Box& box = boxes.box[boxes.count++];
      box.range[0] = inner[i].lines;
      box.range[1] = inner[i].columns;
      continue;
    }
    const int planes = split_lines(inner[i].lines, grid.extent[1], outer);
    for (int j = 0; j < planes; ++j) {
      boxes.box[boxes.count++] = {{outer[j].lines, outer[j].columns, inner[i].columns}};
    }
  }
  return boxes;
}

std::int64_t positions_below(const Grid& grid, const Box& box, int end) {
  const Point at = coordinates(grid, end);
  std::int64_t below = 0;
  for (int axis = 0; axis < grid.axes; ++axis) {
    const Range& range = box.range[axis];
    std::int64_t here = overlap(range, {range.begin, at.at[axis]}).size();
    for (int inner = axis + 1; inner < grid.axes; ++inner) here *= box.range[inner].size();
    below += here;
    if (!range.contains(at.at[axis])) break;
  }
  return below;
}

}  // namespace sparkbench
