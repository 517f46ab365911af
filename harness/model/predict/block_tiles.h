// Which tiles of scores a kernel's blocks walk, where a mask of bounds tells it. Of patterns and of
// packed sequences: listed_blocks.h.
#pragma once

#include <vector>

#include "harness/model/predict/block_schedule.h"
#include "kernels/attention.h"
#include "kernels/kernel_instance.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench {

/// Of teams that take turns in the steps of so many heads: a tile is a step of each.
BlockWork tiles_of_teams(const BlockWork& steps_of_head, int heads, int teams);

/// The tiles, `step` columns each, of a block that visits the columns of `hull`, in every row of
/// which those of `core` are visible.
BlockWork count_tiles(const Range& hull, const Range& core, int step);

/// Of each block of query rows, the tiles of keys. A forward or "bwd-dq" instance's; so many blocks
/// as a head has, in the order of the rows.
std::vector<BlockWork> tiles_of_query_blocks(const KernelInstance& instance,
                                             const Problem& problem);

/// Of each block of keys of a key head, the steps of queries of all heads that read it. A "bwd"
/// instance's, whose teams take a step each: a tile is a step of all of them. A head's first step
/// is now one team's and now another's, so that only the group's last tile may lack a step.
std::vector<BlockWork> tiles_of_key_blocks(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench
