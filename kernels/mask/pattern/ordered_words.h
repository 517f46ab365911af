// Words of 64 keys where a pattern's rows and keys are numbered in the order of a grid.
#pragma once

#include <cstdint>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// key_word() of a term of a pattern that has an order.
std::uint64_t ordered_key_word(const Pattern& pattern, const Term& term, int row, int first);

/// Of a tile's positions, a bit each, those whose coordinate on an axis is in a range; coordinates
/// are counted from the tile's first.
std::uint64_t positions_on_axis(const GridOrder& order, int axis, const Range& coordinates);

}  // namespace sparkbench
