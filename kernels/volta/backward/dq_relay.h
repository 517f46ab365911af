// The dQ semaphore (`relay`), for windows and short sequences: key blocks add to dQ one after the
// other, in a fixed order.
//
// Few key blocks see a query (up to 32 in short causal sequences), and they are adjacent. So they
// add to its dQ in turn, the last key block first: it stores what the others add to, and the first
// key block, after which dQ is complete, rounds it. No pass over memory zeroes the sums and none
// rounds them, and the order of key blocks does not vary between runs. A block visits its queries
// in ascending order; each key block sees a few more queries at the end than the one before it. So
// if they start at once, the block that it waits for is a step ahead, and the sums that it adds to
// were touched a step ago: they are in the cache.
//
// The sums of a step's queries have a *slot* in the workspace while blocks add to them; steps use a
// slot one after the other. There are somewhat more slots than concurrent blocks can use. A word
// for each slot is its semaphore (await_turn() of kernels/machine/machine.h), as CUTLASS's for a
// serial split-K.
//
// Blocks are launched from the last of a head's keys to the first, so that each waits only for
// blocks before it. Varlen and block-sparse kernels do not use it: they add dQ up in memory.
#pragma once

#include <cstdint>

#include "kernels/machine/machine.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::volta {

/// For a mask without a prefix in which every row sees a key. Turns are 0 at launch.
struct DqRelay {
  std::uint32_t* turns = nullptr;
  std::uint32_t slot_mask = 0;  // the slots, a power of 2, less 1
  int steps_of_group = 0;       // steps of all query heads that read a key head,
  int last_step = 0;            // and those of them before the last step
  int key_heads = 0;            // of a tensor
  int key_blocks = 0;           // of a head
  int last_key = 0;             // that a row sees
  /// Whether the kernel's own blocks do the bwd preprocess (relay_statistics.h); the statistics are
  /// then kUnpublished at launch. Otherwise an earlier launch does it.
  bool prepares_statistics = false;
};

/// A step's slot, and its first turn there. A step has as many turns as there are slots, which are
/// more than the key blocks that see a step.
struct DqSlot {
  std::uint32_t slot, first_turn;
};

/// The slot of step `step` of query head `member` of key head `head`, which counts over the batch.
/// Steps are numbered in the order in which blocks visit them.
SPARK_HD DqSlot dq_slot(const DqRelay& relay, int group_size, int head, int member, int step) {
  const auto number = static_cast<std::uint32_t>(head * relay.steps_of_group + relay.last_step -
                                                 step * group_size + member);
  return {number & relay.slot_mask, number & ~relay.slot_mask};
}
SPARK_HD std::uint32_t next_first_turn(const DqRelay& relay, const DqSlot& slot) {
  return slot.first_turn + relay.slot_mask + 1;
}

/// Queries per step.
inline constexpr int kRelayStep = 32;

/// Which key blocks, of `block_keys` keys, see a step's queries.
struct RelayGeometry {
  const KeyMask& mask;
  const int& last_key;  // that a row sees
  int block_keys;       // a power of 2

  /// The first and the last key block that see some query of the step from `query` on. Written for
  /// few instructions, because they are in the loop.
  SPARK_HD int first_block(int query) const {
    return block_of(most_of(0, query + mask.begin_offset));
  }
  SPARK_HD int last_block(int query) const {
    return block_of(least_of(query + (kRelayStep - 2) + mask.end_offset, last_key));
  }
  /// The queries, in whole steps, whose dQ is complete after a block.
  SPARK_HD Range finished_by(int block) const {
    const int begin = block == 0 ? 0 : first_step_from(block_keys * block);
    const int end = first_step_from(block_keys * (block + 1));
    return {kRelayStep * begin, least_of(kRelayStep * end, mask.seqlen_q)};
  }

 private:
  SPARK_HD int block_of(int key) const {
    return static_cast<int>(static_cast<unsigned>(key) / static_cast<unsigned>(block_keys));
  }
  /// The first step whose first query sees no key before `key`.
  SPARK_HD int first_step_from(int key) const {
    return (most_of(0, key - mask.begin_offset) + kRelayStep - 1) / kRelayStep;
  }
};

}  // namespace sparkbench::volta
