// A Layout says which rows and keys of a tile of scores a lane holds, and in which fragment
// elements. This folder's headers are templates over it and independent of the instruction; each
// tensor core's folder has its own Layout (volta/tile/quad_grid.h).
//
// A lane's scores of a step (kStepKeys keys) are kElements numbers in one Fragment, in kStrands
// strands: the elements of a strand are of one row, and of keys that one block of the dropout
// mask has (kernels/problem/dropout.h). Element n of a strand is the key
//   first key + kStepKeys * step + 2 * pair(lane, strand) + key(n)
// for n = 0 .. kStrandElements - 1, where key(n) is the same for every lane.
//
//   kStepKeys, kElements, kStrands, kStrandElements
//   kRowsPerLane                      rows that a lane holds scores of
//   Fragment                          a lane's elements of a step
//   element(strand, n)                which of the fragment's elements that is
//   strand_of(element)                the inverse, in part
//   key(n)
//   slot(strand)                      which of the lane's rows the strand belongs to
//   row(lane, slot)                   that row, from the first of the fragment's
//   pair(lane, strand)                0 .. 3
//   kOtherRowLane                     the XOR mask that leads to the lane with the rows 8 below or
//                                     above this lane's; bit 3 of row() tells the two apart.
//                                     0 if one lane has both: strand 0 the first row, strand 1 the
//                                     one 8 below, of one pair
//   widen(machine, fragment, value)   the elements as floats
//   hide(fragment, element)           sets an element to -inf
//   largest(machine, scores, value)   of each row of this lane's, over some steps; of LazyRows'
//                                     Layouts largest_from_zero(), too: 0 where all are below
//   reduce_row(machine, value, combine)  a row's value over the lanes that share the row
#pragma once

#include "kernels/base/host_device.h"

namespace sparkbench {

/// A number for each row that a lane holds in kGroups fragments.
template <class Layout, int kGroups>
struct RowValues {
  float of[kGroups][Layout::kRowsPerLane];
};

}  // namespace sparkbench
