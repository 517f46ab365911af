// A block of the dK/dV kernel: its coordinates in the problem, and what it loads.
#pragma once

#include <cstring>

#include "kernels/tile/walk.h"
#include "kernels/volta/backward/config.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/padding.h"

namespace sparkbench::volta {

/// Which keys of which key head a block has.
struct BackwardBlock {
  int batch, key_head, first_key;  // of a tensor; the key, in its sequence
  int sequence;                    // batch, or index of the varlen sequence
  int first_q = 0, first_k = 0;    // where this begins in its tensors
  int workspace_row = 0;           // and in the workspace of its heads
  Range seen_by_all = {0, 0};      // varlen: queries that see all of the keys,
  int query_end = 0;               // and where those end that see any
  int part_row = kNoPart;          // where its results begin among those of splits

  /// The query head of a step, at a place of params.walk.
  SPARK_DEVICE int head(const BackwardParams& params, int place) const {
    return key_head * params.groups.size + params.walk.member(place);
  }
  /// Its (sequence, head) index in the dropout mask.
  SPARK_DEVICE std::uint32_t batch_head(const BackwardParams& params, int place) const {
    return static_cast<std::uint32_t>(sequence * params.heads + head(params, place));
  }
  /// Its (batch, head) index in the workspace.
  SPARK_DEVICE std::uint32_t workspace_head(const BackwardParams& params, int place) const {
    return static_cast<std::uint32_t>(batch * params.heads + head(params, place));
  }
};

/// Under the dQ semaphore blocks take a head's key blocks from the last to the first.
template <class Machine>
SPARK_DEVICE int relayed_block(Machine& machine, const BackwardParams& params) {
  return params.relay.key_blocks - 1 - machine.block(0);
}

/// Cheap enough to be called again where its results are used: keeping them through the loop over
/// queries would take registers that the loop lacks.
template <class Config, class Machine>
SPARK_DEVICE BackwardBlock locate_backward(Machine& machine, const BackwardParams& params) {
  if constexpr (kIsVarlen<Config>) {
    WorkPlace place;
    WorkWalk walk;
    if constexpr (Config::kKeepsItem) {
      const WorkItem& kept = machine.template shared<BackwardTiles<Config>>().item;
      const auto of_place = machine.template load_shared<Bits128>(&kept.place);
      const auto of_walk = machine.template load_shared<Bits128>(&kept.walk);
      memcpy(&place, &of_place, sizeof place);
      memcpy(&walk, &of_walk, sizeof walk);
    } else {
      place = load_work_place(machine, params.key_items);
      walk = load_work_walk(machine, params.key_items);
    }
    return {0,
            machine.block(0),
            place.first_row,
            place.sequence,
            place.first_q,
            place.first_k,
            first_workspace_row(place.first_q, place.sequence),
            {walk.all_begin, walk.all_end},
            walk.end};
  }
  const int batch = machine.block(2);
  if constexpr (kIsSparse<Config>) {
    const int key_head = machine.block(0);
    return {batch, key_head,
            load_of_list(machine, &params.sparse_keys.block(0, machine.block(1))->first_row),
            batch};
  }
  if constexpr (Config::kRelaysDq) {
    const int block = relayed_block(machine, params);
    return {batch, machine.block(1), block * Config::kBlockKeys, batch};
  }
  return {batch, machine.block(1), machine.block(0) * Config::kBlockKeys, batch};
}

/// Keeps the block's work item in shared memory for locate_backward(), where registers are short.
template <class Config, class Machine>
SPARK_DEVICE void keep_item(Machine& machine, const BackwardParams& params) {
  if constexpr (Config::kKeepsItem) {
    if (machine.thread() == 0) {
      const WorkItem* const item = work_item(machine, params.key_items);
      WorkItem& kept = machine.template shared<BackwardTiles<Config>>().item;
      machine.store_shared(&kept.place, machine.template load_global<Bits128>(&item->place));
      machine.store_shared(&kept.walk, machine.template load_global<Bits128>(&item->walk));
    }
    machine.barrier();
  }
}

/// The mask of the block's sequence.
template <class Config, class Machine>
SPARK_DEVICE SequenceMask<Config> mask_of_keys(Machine& machine, const BackwardParams& params) {
  return WalkOf<Config>::mask(machine, params.key_items, params.mask);
}

/// For restore_place(). One thread stores it; a barrier must follow.
template <class Config, class Machine>
SPARK_DEVICE void keep_place(Machine& machine, const BackwardParams& params,
                             BackwardTiles<Config>& tiles) {
  if constexpr (Config::kKeepsPlace) {
    const BackwardBlock block = locate_backward<Config>(machine, params);
    if (machine.thread() != 0) return;
    const int place[4] = {block.batch, block.key_head, block.first_key, 0};
    Bits128 bits;
    memcpy(&bits, place, sizeof bits);
    machine.store_shared(&tiles.place, bits);
  }
}

/// locate_backward() after the loop, without keeping the result in registers meanwhile.
template <class Config, class Machine>
SPARK_DEVICE BackwardBlock restore_place(Machine& machine, const BackwardParams& params,
                                         BackwardTiles<Config>& tiles) {
  if constexpr (Config::kKeepsPlace) {
    const auto bits = machine.template load_shared<Bits128>(&tiles.place);
    int place[4];
    memcpy(place, &bits, sizeof place);
    return {place[0], place[1], place[2], place[0]};
  } else {
    return locate_backward<Config>(machine, params);
  }
}

/// The queries that take part and see some key of the block.
template <class Config, class Machine>
SPARK_DEVICE Range queries_of_block(Machine& machine, const BackwardParams& params,
                                    const BackwardBlock& block) {
  if constexpr (kIsVarlen<Config>) {
    const KeyMask mask = mask_of_keys<Config>(machine, params);
    return {least_of(mask.rows(block.first_key).begin, mask.seqlen_q), block.query_end};
  } else {
    const int first = params.mask.rows(block.first_key).begin;
    const int end = block.first_key + Config::kBlockKeys - params.mask.begin_offset;
    const int begin = least_of(most_of(first, params.query_begin), params.query_end);
    return {begin, least_of(end, params.query_end)};
  }
}

/// The end of the block's queries.
template <class Config, class Machine>
SPARK_DEVICE int query_end_of_block(Machine& machine, const BackwardParams& params,
                                    const BackwardBlock& block) {
  if constexpr (kIsVarlen<Config>) {
    return block.query_end;
  } else if constexpr (kIsSparse<Config>) {
    return params.query_end;
  } else {
    return queries_of_block<Config>(machine, params, block).end;
  }
}

/// The tile of a block-sparse step: places count all listed tiles (tile/sparse_list.h).
template <class Config>
SPARK_DEVICE const SparseTile* tile_of_step(const BackwardParams& params, int place) {
  return tile_of_place<Config::kStep>(params.sparse_keys, params.walk.query(place));
}

/// A step's rows of Q or dO from first_query on, staged for shared memory: those below query_end,
/// else zeros.
template <class Config, class Machine>
SPARK_DEVICE void load_queries(Machine& machine, const BackwardParams& params,
                               const BackwardBlock& block, const ChunkedView<const Bits16>& tensor,
                               int place, int first_query, typename Config::StagedQueries& staged) {
  using Staged = typename Config::StagedQueries;
  const int query_end = query_end_of_block<Config>(machine, params, block);
  const int row = first_query + Staged::first_row(machine);
  const int valid = copied_rows<Config, Staged>(machine, params, query_end);
  // Without this closure nvcc spills registers in kernels with the dQ semaphore.
  const auto load = [&](int tensor_row, int apart) {
    const std::uint32_t chunk = tensor.chunk(block.batch, tensor_row, block.head(params, place)) +
                                static_cast<std::uint32_t>(Staged::column_chunk(machine));
    staged.load_from_chunk(machine, machine.opaque(tensor.at_chunk(chunk)), apart, row, valid,
                           copies_last<Config, Staged>(machine, params));
  };
  load(kIsVarlen<Config> ? block.first_q + row : row, tensor.row_stride());
}

/// The rows of V that the step's P and dS overlaid, staged for reloading.
template <class Config, class Machine>
SPARK_DEVICE void load_borrowed(Machine& machine, const BackwardParams& params,
                                const BackwardBlock& block,
                                typename Config::StagedBorrowed& staged) {
  using Staged = typename Config::StagedBorrowed;
  constexpr int kFirstRow = Config::kBlockKeys - Config::kBorrowedKeys;
  const int row = block.first_key + kFirstRow + Staged::first_row(machine);
  const std::uint32_t chunk = params.v.chunk(block.batch, block.first_k + row, block.key_head) +
                              static_cast<std::uint32_t>(Staged::column_chunk(machine));
  const int seqlen_k = mask_of_keys<Config>(machine, params).seqlen_k;
  staged.load_from_chunk(machine, machine.opaque(params.v.at_chunk(chunk)), params.v.row_stride(),
                         row, copied_rows<Config, Staged>(machine, params, seqlen_k));
}

/// K and V, and Q and dO of the team's first step. Each warp fills its own rows of every tile, and
/// does `beside` while the loads are in flight.
template <class Config, class Machine, class Beside>
SPARK_DEVICE void load_first_tiles(Machine& machine, const BackwardParams& params, int place,
                                   int first_query, BackwardTiles<Config>& tiles, Beside beside) {
  const BackwardBlock block = locate_backward<Config>(machine, params);
  const int seqlen_k = mask_of_keys<Config>(machine, params).seqlen_k;
  const auto rows = [&](const ChunkedView<const Bits16>& tensor) {
    return TensorRows{tensor.at(block.batch, block.first_k + block.first_key, block.key_head),
                      tensor.row_stride(),
                      copied_rows<Config, typename Config::StagedKeys>(machine, params,
                                                                       seqlen_k - block.first_key)};
  };
  const int team = TeamMember<Config>(machine.warp()).team;
  typename Config::StagedKeys k, v;
  typename Config::StagedQueries q, d_o;
  const bool has_last = copies_last<Config, typename Config::StagedKeys>(machine, params);
  k.load(machine, rows(params.k), has_last);
  v.load(machine, rows(params.v), has_last);
  load_queries<Config>(machine, params, block, params.q, place, first_query, q);
  load_queries<Config>(machine, params, block, params.d_o, place, first_query, d_o);
  beside();
  k.store(machine, tiles.k);
  v.store(machine, tiles.values());
  q.store(machine, tiles.team[team].q);
  d_o.store(machine, tiles.team[team].d_o);
  keep_place(machine, params, tiles);
  machine.barrier();
}

template <class Config, class Machine>
SPARK_DEVICE void load_first_tiles(Machine& machine, const BackwardParams& params, int place,
                                   int first_query, BackwardTiles<Config>& tiles) {
  load_first_tiles(machine, params, place, first_query, tiles, [] {});
}

/// Barrier of a team's warps.
template <class Config, class Machine>
SPARK_DEVICE void team_barrier(Machine& machine) {
  if constexpr (Config::kTeams == 1) {
    machine.barrier();
  } else {
    machine.template team_barrier<Config::kTeamWarps>();
  }
}

}  // namespace sparkbench::volta
