// Blocks in the order in which a V100 starts them, if a list sets it: for varlen the list that
// kernels/tile/list_blocks.h makes on the device, for a pattern that of
// kernels/block_sparse/sparse_lists.h. Both put the blocks with most work first.
#pragma once

#include <vector>

#include "harness/model/predict/block_schedule.h"
#include "kernels/launch/attention_kernel.h"
#include "kernels/varlen/work_lists.h"

namespace sparkbench {

struct ListedBlock {
  int sequence;
  int first;  // of its rows, or keys, in the sequence

  bool operator==(const ListedBlock&) const = default;
};

/// The places of the list, of which each is a block for each head. `problem` has lengths.
std::vector<ListedBlock> listed_blocks(const Problem& problem, const WorkListKind& kind);

/// The work of the list's blocks: tiles of keys for a forward or "bwd-dq" instance; for a "bwd" one
/// steps over the queries of all heads that read the keys. A block of keys that reaches past its
/// sequence's end has only partial tiles.
std::vector<BlockWork> tiles_of_listed_queries(const KernelInstance& instance,
                                               const Problem& problem);
std::vector<BlockWork> tiles_of_listed_keys(const KernelInstance& instance, const Problem& problem);

/// Parts (instance_cycles.h) that a scheduler has of a tile of which every warp sees all; 1 where
/// warps leave out nothing, or have one part alone.
int most_parts(const KernelInstance& instance);

/// The same of a pattern, of all heads that have blocks: each block of all heads before the next.
std::vector<BlockWork> tiles_of_pattern(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench
