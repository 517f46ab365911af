// The plans that lists of tiles (sparse_lists.h) are made of, each of its blocks.
#pragma once

#include <vector>

#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

/// What lists of a kind walk: of blocks of keys the transposed pattern.
Pattern walked_by(const SparseMask& mask, const SparseListKind& kind);

/// Of each union of walked_by(mask, kind), the plan of its blocks, as the host sees it, or as the
/// mask's sights do if it has any.
std::vector<TilePlan> plans_of(const Pattern& walked, const SparseListKind& kind);
std::vector<TilePlan> plans_of(const SparseMask& mask, const SparseListKind& kind);

}  // namespace sparkbench
