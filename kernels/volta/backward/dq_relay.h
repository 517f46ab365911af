// dQ of windows and short sequences in relay: blocks of keys hand its sums on, from each to the
// next.
//
// Few blocks of keys see a query, of short causal sequences up to 32, and they lie side by side. So
// they add to its dQ one after the other, the last block of keys first: it stores what the others
// add to, and the first block of keys, behind which dQ is complete, rounds it. There is no pass
// over memory to set sums to zero, and none to round them, and dQ's bits do not depend on who comes
// first. A block walks its queries in ascending order, of which each block of keys sees a few more
// at the end than the one before. So the block that it waits for is a step ahead of it where they
// start at once, and the sums that it adds to were touched a step ago: they are in the cache.
//
// Sums of a step's queries have a *slot* while blocks add to them, of which one step takes after
// another: as many as blocks on the chip may have at once, and some. A word for each slot tells
// whose turn it is (await_turn() of kernels/machine/machine.h): CUTLASS's semaphore of a serial
// split-K.
//
// Blocks are launched from the last of a head's keys to the first, so that each waits only for
// blocks before it. Packed sequences and patterns have no relay: their dQ is added up in memory.
#pragma once

#include <cstdint>

#include "kernels/machine/machine.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::volta {

/// For a mask without a prefix, all of whose rows see a key. Turns are 0 at launch.
struct DqRelay {
  std::uint32_t* turns = nullptr;
  std::uint32_t slot_mask = 0;  // the slots, a power of 2, less 1
  int steps_of_group = 0;       // of the query heads that read a key head,
  int last_step = 0;            // and before the last step's of them
  int key_heads = 0;            // of a tensor
  int key_blocks = 0;           // of a head
  int last_key = 0;             // that a row sees
  /// Whether its blocks prepare the statistics (relay_statistics.h), which are kUnpublished at
  /// launch; else a launch before it has.
  bool prepares_statistics = false;
};

/// A step's slot, and its first turn there. Slots are more than the blocks of keys that see a step:
/// a step has as many turns as there are slots.
struct DqSlot {
  std::uint32_t slot, first_turn;
};

/// Of a step of one of a key head's query heads; `head` counts key heads over the batch. Steps are
/// counted in the order in which blocks come to them.
SPARK_HD DqSlot dq_slot(const DqRelay& relay, int group_size, int head, int member, int step) {
  const auto number = static_cast<std::uint32_t>(head * relay.steps_of_group + relay.last_step -
                                                 step * group_size + member);
  return {number & relay.slot_mask, number & ~relay.slot_mask};
}
SPARK_HD std::uint32_t next_first_turn(const DqRelay& relay, const DqSlot& slot) {
  return slot.first_turn + relay.slot_mask + 1;
}

/// Queries of a step.
inline constexpr int kRelayStep = 32;

/// Which blocks of keys, of so many each, see a step's queries.
struct RelayGeometry {
  const KeyMask& mask;
  const int& last_key;  // that a row sees
  int block_keys;       // a power of 2

  /// The first and the last of those that see some query of the step from `query` on. By as few
  /// instructions as a loop can spend.
  SPARK_HD int first_block(int query) const {
    return block_of(most_of(0, query + mask.begin_offset));
  }
  SPARK_HD int last_block(int query) const {
    return block_of(least_of(query + (kRelayStep - 2) + mask.end_offset, last_key));
  }
  /// The queries, of whole steps, whose dQ is complete behind a block.
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
