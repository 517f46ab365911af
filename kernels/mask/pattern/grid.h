// A sequence laid out row-major over at most three axes, with a zone on each: a pair is visible
// when it is on every axis. Over (seqlen / s, s), the zone "residues are equal" is a strided
// pattern; over (height, width), a band on each axis is a neighbourhood.
//
// The outermost axis has no ends: positions before 0 have coordinates below 0 there.
#pragma once

#include "kernels/mask/pattern/zone.h"

namespace sparkbench {

inline constexpr int kMostAxes = 3;

/// Whose windows stay whole at the borders: they move inside instead, as NATTEN's do. A window of
/// W = d1 - d0 keys of row q then begins at min(max(q + d0, 0), extent - W).
enum class Clamp {
  kNone,
  kRows,  // each row sees a window of keys
  kKeys,  // the transpose: each key is seen by a window of rows
};

struct Grid {
  int axes = 0;  // 0: no grid, every pair is on it
  int extent[kMostAxes] = {1, 1, 1};
  Zone zone[kMostAxes];
  Clamp clamp = Clamp::kNone;

  bool operator==(const Grid& other) const;
};

struct Point {
  int at[kMostAxes] = {0, 0, 0};
};

/// Coordinates of each axis in turn, [begin, end).
struct Box {
  Range range[kMostAxes] = {{0, 1}, {0, 1}, {0, 1}};
};

/// Rounds down, below zero too.
SPARK_HD int floor_divide(int dividend, int divisor) {
  const int quotient = dividend / divisor;
  return quotient * divisor > dividend ? quotient - 1 : quotient;
}

Point coordinates(const Grid& grid, int position);

/// Whether both grids factor the sequence alike.
bool has_same_axes(const Grid& a, const Grid& b);

/// The definition: whether (q, k), two positions, is on every axis.
bool sees(const Grid& grid, int q, int k);

/// Keys on one axis that a row in the zone's [q0, q1) sees. Neither end ever falls from row to row.
Range axis_keys(const Grid& grid, int axis, int q);

/// Keys on one axis that some of these rows see; none if no row is in [q0, q1).
Range axis_hull(const Grid& grid, int axis, const Range& rows);

/// Keys on one axis that all of these rows see.
Range axis_core(const Grid& grid, int axis, const Range& rows);

/// The keys that some row of a box sees, and those that each does. Axes are independent, so each is
/// exactly a box; it is empty where one of its ranges is.
Box hull(const Grid& grid, const Box& rows);
Box core(const Grid& grid, const Box& rows);
bool is_empty(const Grid& grid, const Box& box);

Grid transposed(const Grid& grid);

/// At most five boxes that hold the positions [begin, end), each once.
struct Boxes {
  int count = 0;
  Box box[5];
};
Boxes boxes_of(const Grid& grid, const Range& positions);

/// How many positions below `end` are in a box.
std::int64_t positions_below(const Grid& grid, const Box& box, int end);

}  // namespace sparkbench
