// Whether a pattern over a grid is less work in orders of its tokens (grid_order.h), and in which.
#pragma once

#include <memory>
#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// The same pairs, of which rows and keys are numbered in orders of the grid's tokens. Null where
/// that is no less work than the order of the sequence, forward or of both passes: by the tiles of
/// 64 keys that blocks of 128 rows visit, by the halves of 32 keys that their warps of 32 rows see,
/// and backward by the tiles of 64 rows that blocks of 128 keys visit; of some blocks if there are
/// many. And for any but a pattern of one union of closed forms, as many rows as keys, and grids of
/// the same two or three axes that have all tokens and are no residues (passes.h). Tiles are those
/// of the least work forward, and keys are counted along the axis of the least work backward.
std::shared_ptr<const Pattern> pattern_in_order(const Pattern& pattern);

/// The pattern in this order of its tokens: one of its grid's, or of any other.
Pattern in_order(const Pattern& pattern, const GridOrder& order);
/// Its rows and its keys each in one, whose tiles are alike: else throws std::invalid_argument.
Pattern in_order(const Pattern& pattern, const GridOrder& of_rows, const GridOrder& of_keys);

/// Tokens of a tile on each of the grid's two or three axes.
std::vector<int> tile_extents(const GridOrder& order);

}  // namespace sparkbench
