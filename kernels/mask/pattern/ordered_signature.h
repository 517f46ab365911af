// What tells tiles apart where a pattern's rows and keys are numbered in the order of a grid.
#pragma once

#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Adds numbers that are the same for tiles of as many rows and keys, both within the sequences, in
/// which the term shows the same: axis by axis, which of the keys the tile's coordinates see. False
/// for a term that is not is_of_order() (order_boxes.h), and that others hide.
bool add_ordered_signature(const Pattern& pattern, const Term& term, const Range& rows,
                           const Range& keys, std::vector<int>& numbers);

}  // namespace sparkbench
