// Which tiles of scores a kernel's blocks walk under a mask with bounds. For patterns and packed
// sequences: listed_blocks.h.
#pragma once

#include <vector>

#include "harness/model/predict/block_schedule.h"
#include "kernels/launch/kernel_instance.h"
#include "kernels/mask/key_mask.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

/// Tiles of teams that take turns in the steps of so many heads: a tile is a step of each team.
BlockWork tiles_of_teams(const BlockWork& steps_of_head, int heads, int teams);

/// The tiles, `step` columns each, of a block that visits the columns of `hull`, in every row of
/// which those of `core` are visible.
BlockWork count_tiles(const Range& hull, const Range& core, int step);

/// The tiles of keys of each block of query rows, for a forward or "bwd-dq" instance: the blocks of
/// one head, in the order of the rows.
std::vector<BlockWork> tiles_of_query_blocks(const KernelInstance& instance,
                                             const Problem& problem);

/// The steps of each block of keys of one key head, over the queries of all heads that read it, for
/// a "bwd" instance. A tile is a step of every team. Teams continue in turn from head to head, so
/// only the group's last tile may lack a step.
std::vector<BlockWork> tiles_of_key_blocks(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench
