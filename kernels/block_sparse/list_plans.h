// The tile plans of a list's blocks (sparse_lists.h).
#pragma once

#include <vector>

#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

/// The pattern that lists of a kind visit: transposed for blocks of keys.
Pattern walked_by(const SparseMask& mask, const SparseListKind& kind);

/// The plan of each head's pattern in walked_by(mask, kind): from the device block mask if the mask
/// has one, otherwise from the host.
std::vector<TilePlan> plans_of(const Pattern& walked, const SparseListKind& kind);
std::vector<TilePlan> plans_of(const SparseMask& mask, const SparseListKind& kind);

}  // namespace sparkbench
