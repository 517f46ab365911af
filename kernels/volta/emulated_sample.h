// Which blocks of a dense backward pass a sample takes, and how much its blocks walk.
#pragma once

#include <vector>

#include "kernels/base/sample.h"
#include "kernels/problem/attention.h"
#include "kernels/volta/backward/dq_relay.h"

namespace sparkbench::volta {

using Tiles = std::vector<SampleTile>;

/// Every tile of queries of the heads that occur in a sample, and that read key heads of it.
Tiles tiles_of_same_heads(const Problem& problem, const BackwardSample& sample);

/// The tiles of keys that a row of the query tile sees: none where no row sees any.
Tiles tiles_of_visible_keys(const Problem& problem, const SampleTile& queries);

/// Blocks of keys of a head that lie side by side.
struct KeyBlocks {
  int key_head, batch;
  Range blocks;
};

/// The key blocks that a sample's gradients need with the dQ semaphore: for queries, all that they
/// see. So no block rounds dQ of the sample's queries before it is complete.
std::vector<KeyBlocks> key_blocks_of(const Problem& problem, const BackwardSample& sample);

/// Sets the semaphores as key blocks from `key_block` on leave them.
void pass_turns_behind(const DqRelay& relay, const Problem& problem, int key_block);

}  // namespace sparkbench::volta
