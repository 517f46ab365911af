// Which rows or keys of which packed sequence (kernels/problem/packed.h) each block of a launch
// has: a list that list_blocks.h writes before the launch, longest first, or in relay.
#pragma once

#include <type_traits>

#include "kernels/base/planted_fault.h"
#include "kernels/machine/machine.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench {

/// Where a block stands.
struct alignas(16) WorkPlace {
  int first_row;         // of the block in its sequence, or its first key; kNoWork: nothing to do
  int sequence;          // in the batch
  int first_q, first_k;  // where the sequence begins in the packed tensors
};

/// Of the list's room that is not needed.
inline constexpr int kNoWork = -1;

/// Its sequence's mask, but for the prefix, which all sequences share.
struct alignas(16) WorkMask {
  int seqlen_q, seqlen_k, begin_offset, end_offset;
};

/// The other side of a block: keys of a block of rows, rows of a block of keys.
struct alignas(16) WorkWalk {
  int first;               // where the sequence begins there, as place has it
  int end;                 // in the sequence, of what some row, or key, of the block sees
  int all_begin, all_end;  // what all of them see; none of it where some are past the last
};

struct WorkItem {
  WorkPlace place;
  WorkMask mask;
  WorkWalk walk;
};

/// Of a block of keys in relay: each adds to dQ of a step of queries behind the blocks of later
/// keys that see some of it. Numbers by which a loop needs few instructions to say, of the step
/// from `query` on,
///   how many blocks add before this one   least_of(behind + query, most) / the block's keys
///   whether none does behind it           query >= last_from
struct alignas(16) WorkRelay {
  int behind, most;  // of a block that no row sees not asked for
  int last_from;
  int padded_row;  // where the sequence's queries begin if each has whole blocks of kPaddedRows
};

/// Rows that a sequence's are rounded up to where no block has those of two.
inline constexpr int kPaddedRows = 128;

/// Where the rows of a sequence are among these: none of it in a block of another's.
SPARK_HD int padded_row(int first_q, int sequence) {
  return first_q / kPaddedRows * kPaddedRows + kPaddedRows * sequence;
}

/// Heads are grid axis x, so that all heads of a long sequence start before those of a short one,
/// and those of a group walk the same keys together. Items are axes y and, above so many, z.
inline constexpr int kItemsOfAxis = 1 << 15;

template <class Machine>
SPARK_DEVICE const WorkItem* work_item(const Machine& machine, const WorkItem* items) {
  return items + (machine.block(1) + kItemsOfAxis * machine.block(2));
}

/// The mask of a block's sequence: loaded of packed sequences, else of all the launch.
template <class Config>
using SequenceMask = std::conditional_t<Config::kIsPacked, KeyMask, const KeyMask&>;

/// This block's. Loaded wherever it is asked for: registers to keep it in are short.
template <class Machine>
SPARK_DEVICE WorkPlace load_work_place(Machine& machine, const WorkItem* items) {
  return machine.template load_global<WorkPlace>(&work_item(machine, items)->place);
}

/// What it walks.
template <class Machine>
SPARK_DEVICE WorkWalk load_work_walk(Machine& machine, const WorkItem* items) {
  return machine.template load_global<WorkWalk>(&work_item(machine, items)->walk);
}

/// Its mask; `prefix` of an OpenMask.
template <class Machine>
SPARK_DEVICE KeyMask load_work_mask(Machine& machine, const WorkItem* items, int prefix) {
  const auto mask = machine.template load_global<WorkMask>(&work_item(machine, items)->mask);
  return {mask.seqlen_q, SPARK_PLANTED(kPackedKeyOfNextSequence, mask.seqlen_k, mask.seqlen_k + 1),
          mask.begin_offset, mask.end_offset,
          SPARK_PLANTED(kPackedPrefixLost, least_of(prefix, mask.seqlen_k), 0)};
}

}  // namespace sparkbench
