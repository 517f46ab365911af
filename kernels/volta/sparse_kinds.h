// Which lists of tiles (kernels/block_sparse/sparse_lists.h) the Volta kernels take for a pattern.
#pragma once

#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/volta/backward/config.h"
#include "kernels/volta/backward/dq_config.h"
#include "kernels/volta/forward/config.h"

namespace sparkbench::volta {

/// Of a forward configuration, of one of dK and dV, and of one of dQ.
template <class Config>
inline constexpr SparseListKind kSparseForward = {false, Config::kBlockM, Config::kBlockN};
template <class Config>
inline constexpr SparseListKind kSparseKeys = {true, Config::kBlockKeys, Config::kStep};
template <class Config>
inline constexpr SparseListKind kSparseQueries = {false, Config::kBlockM, Config::kBlockN};

/// Of members [first_member, end_member) of a group, whose places count the tiles that are listed.
/// Throws std::invalid_argument where 31 bits are too few.
template <class Config>
GroupWalk walk_of_lists(const SparseTileLists& lists, int first_member, int end_member) {
  return group_walk(Config::kStep * static_cast<int>(lists.all_tiles().size()), first_member,
                    end_member);
}

}  // namespace sparkbench::volta
