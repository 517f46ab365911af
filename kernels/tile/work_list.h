// Varlen tile scheduling: which rows or keys of which sequence (kernels/problem/packed.h) each
// block of a launch has. list_blocks.h writes the list before the launch, longest first.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/machine/machine.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench {

/// A block's rows, or keys.
struct alignas(16) WorkPlace {
  int first_row;         // of the block in its sequence, or its first key; kNoWork: nothing to do
  int sequence;          // in the batch
  int first_q, first_k;  // where the sequence begins in the varlen tensors
};

/// WorkPlace::first_row of unused entries of the list.
inline constexpr int kNoWork = -1;

/// The mask of its sequence, but for the prefix, which all sequences share.
struct alignas(16) WorkMask {
  int seqlen_q, seqlen_k, begin_offset, end_offset;
};

/// The other side of a block: keys of a block of rows, rows of a block of keys.
struct alignas(16) WorkWalk {
  int first;               // where the sequence begins in that tensor
  int end;                 // in the sequence, of what some row, or key, of the block sees
  int all_begin, all_end;  // what all of them see; empty where some are past the last
};

struct WorkItem {
  WorkPlace place;
  WorkMask mask;
  WorkWalk walk;
};

/// Heads are grid axis x: all heads of a long sequence start before those of a short one, and heads
/// of a group read the same keys at the same time. Items are axis y and, beyond kItemsOfAxis, z.
inline constexpr int kItemsOfAxis = 1 << 15;

template <class Machine>
SPARK_DEVICE const WorkItem* work_item(const Machine& machine, const WorkItem* items) {
  return items + (machine.block(1) + kItemsOfAxis * machine.block(2));
}

/// Loaded wherever it is used: registers to keep it in are short.
template <class Machine>
SPARK_DEVICE WorkPlace load_work_place(Machine& machine, const WorkItem* items) {
  return machine.template load_global<WorkPlace>(&work_item(machine, items)->place);
}

template <class Machine>
SPARK_DEVICE WorkWalk load_work_walk(Machine& machine, const WorkItem* items) {
  return machine.template load_global<WorkWalk>(&work_item(machine, items)->walk);
}

/// The block's mask, with the launch's `prefix` (OpenMask).
template <class Machine>
SPARK_DEVICE KeyMask load_work_mask(Machine& machine, const WorkItem* items, int prefix) {
  const auto mask = machine.template load_global<WorkMask>(&work_item(machine, items)->mask);
  return {mask.seqlen_q, SPARK_PLANTED(kPackedKeyOfNextSequence, mask.seqlen_k, mask.seqlen_k + 1),
          mask.begin_offset, mask.end_offset,
          SPARK_PLANTED(kPackedPrefixLost, least_of(prefix, mask.seqlen_k), 0)};
}

}  // namespace sparkbench
