// Blocks in the order in which a V100 starts them where a list says it: of packed sequences that
// which kernels/tile/list_blocks.h makes on the device, of a pattern
// kernels/block_sparse/sparse_lists.h's. Both have those with most to do first.
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

/// What the blocks of the list walk: of a forward or "bwd-dq" instance tiles of keys, of a "bwd"
/// one steps of the queries of all heads that read the keys. A block of keys that reaches past its
/// sequence's end has cut tiles alone.
std::vector<BlockWork> tiles_of_listed_queries(const KernelInstance& instance,
                                               const Problem& problem);
std::vector<BlockWork> tiles_of_listed_keys(const KernelInstance& instance, const Problem& problem);

/// Parts (instance_cycles.h) that a scheduler has of a tile of which every warp sees all; 1 where
/// warps leave out nothing, or have one part alone.
int most_parts(const KernelInstance& instance);

/// The same of a pattern, of all heads that have blocks: each block of all heads before the next.
std::vector<BlockWork> tiles_of_pattern(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench
