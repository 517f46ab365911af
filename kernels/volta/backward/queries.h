// A block of the kernels over query rows: the dQ kernel, and the preprocess and postprocess
// kernels.
#pragma once

#include "kernels/tile/walk.h"
#include "kernels/volta/backward/params.h"

namespace sparkbench::volta {

/// The sequence and head of a block of queries.
struct QueryBlock {
  int batch, head, first_row;    // of a tensor; the row, in its sequence
  int sequence;                  // batch, or index of the varlen sequence
  int first_q = 0, first_k = 0;  // where this begins in its tensors
  int workspace_row = 0;         // and in the workspace of its heads

  /// Its (sequence, head) index in the dropout mask.
  SPARK_DEVICE std::uint32_t batch_head(const BackwardParams& params) const {
    return static_cast<std::uint32_t>(sequence * params.heads + head);
  }
  /// Its (batch, head) index in the workspace.
  SPARK_DEVICE std::uint32_t workspace_head(const BackwardParams& params) const {
    return static_cast<std::uint32_t>(batch * params.heads + head);
  }
};

/// A varlen work item has more rows than a block: blocks that share a head and item.
template <class Config>
inline constexpr int kBlocksOfItem = kWorkspaceBlock / Config::kBlockM;

template <class Config, class Machine>
SPARK_DEVICE QueryBlock locate_queries(Machine& machine, const BackwardParams& params) {
  if constexpr (kIsVarlen<Config>) {
    const WorkPlace place = load_work_place(machine, params.query_items);
    const int part = machine.block(0) % kBlocksOfItem<Config>;
    return {0,
            machine.block(0) / kBlocksOfItem<Config>,
            place.first_row + Config::kBlockM * part,
            place.sequence,
            place.first_q,
            place.first_k,
            first_workspace_row(place.first_q, place.sequence)};
  }
  if constexpr (kIsSparse<Config>) {
    const int head = machine.block(0), batch = machine.block(2);
    return {batch, head,
            load_of_list(machine, &params.sparse_queries.block(head, machine.block(1))->first_row),
            batch};
  }
  const int head = machine.block(1), batch = machine.block(2);
  return {batch, head, Config::kBlockM * machine.block(0), batch};
}

/// The mask of the block's sequence.
template <class Config, class Machine>
SPARK_DEVICE SequenceMask<Config> mask_of_queries(Machine& machine, const BackwardParams& params) {
  return WalkOf<Config>::mask(machine, params.query_items, params.mask);
}

}  // namespace sparkbench::volta
