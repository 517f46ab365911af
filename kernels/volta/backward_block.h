// A block of the kernel of dK and dV: its place in the problem, and what it loads.
#pragma once

#include "kernels/volta/backward_config.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/padding.h"

namespace sparkbench::volta {

/// Which keys of which key head a block has.
struct BackwardBlock {
  int batch, key_head, first_key;

  /// The query head of a step, at a place of params.walk.
  SPARK_DEVICE int head(const BackwardParams& params, int place) const {
    return key_head * params.groups.size + params.walk.member(place);
  }
  SPARK_DEVICE std::uint32_t batch_head(const BackwardParams& params, int place) const {
    return static_cast<std::uint32_t>(batch * params.heads + head(params, place));
  }
};

/// Cheap enough to be called anew where its results are wanted: what is kept through the loop over
/// queries takes registers that the loop lacks.
template <class Config, class Machine>
SPARK_DEVICE BackwardBlock locate_backward(const Machine& machine) {
  return {machine.block(2), machine.block(1), machine.block(0) * Config::kBlockKeys};
}

/// For restore_place(). One thread's business; a barrier must follow.
template <class Config, class Machine>
SPARK_DEVICE void keep_place(Machine& machine, BackwardTiles<Config>& tiles) {
  if constexpr (Config::kKeepsPlace) {
    const BackwardBlock block = locate_backward<Config>(machine);
    if (machine.thread() != 0) return;
    Bits128 bits{};
    memcpy(&bits, &block, sizeof block);
    machine.store_shared(&tiles.place, bits);
  }
}

/// locate_backward() after the loop, without the registers to keep it in meanwhile.
template <class Config, class Machine>
SPARK_DEVICE BackwardBlock restore_place(Machine& machine, BackwardTiles<Config>& tiles) {
  if constexpr (Config::kKeepsPlace) {
    const auto bits = machine.template load_shared<Bits128>(&tiles.place);
    BackwardBlock block;
    memcpy(&block, &bits, sizeof block);
    return block;
  } else {
    return locate_backward<Config>(machine);
  }
}

/// The queries that take part and see some key of the block.
template <class Config>
SPARK_DEVICE Range queries_of_block(const BackwardParams& params, const BackwardBlock& block) {
  // Keys past the last would be seen by rows past the last.
  // As mask.rows_of_any(), with query_end, which is no further, in the place of the last row.
  const int first = params.mask.rows(block.first_key).begin;
  const int end = block.first_key + Config::kBlockKeys - params.mask.begin_offset;
  const int begin = least_of(most_of(first, params.query_begin), params.query_end);
  return {begin, least_of(end, params.query_end)};
}

/// A step's rows of Q or dO, on their way to shared memory: those below query_end, and zeros.
template <class Config, class Machine>
SPARK_DEVICE void load_queries(Machine& machine, const BackwardParams& params,
                               const BackwardBlock& block, const ChunkedView<const Half>& tensor,
                               int place, typename Config::StagedQueries& staged) {
  using Staged = typename Config::StagedQueries;
  const int query_end = queries_of_block<Config>(params, block).end;
  const int row = params.walk.query(place) + Staged::first_row(machine);
  const std::uint32_t chunk = tensor.chunk(block.batch, row, block.head(params, place)) +
                              static_cast<std::uint32_t>(Staged::column_chunk(machine));
  staged.load_from_chunk(machine, machine.opaque(tensor.at_chunk(chunk)), tensor.row_stride(), row,
                         copied_rows<Config, Staged>(machine, params, query_end));
}

/// K and V, and Q and dO of the team's first step. Each warp fills its own rows of every tile.
template <class Config, class Machine>
SPARK_DEVICE void load_first_tiles(Machine& machine, const BackwardParams& params, int place,
                                   BackwardTiles<Config>& tiles) {
  const BackwardBlock block = locate_backward<Config>(machine);
  const auto rows = [&](const ChunkedView<const Half>& tensor) {
    return TensorRows{tensor.at(block.batch, block.first_key, block.key_head), tensor.row_stride(),
                      copied_rows<Config, typename Config::StagedKeys>(
                          machine, params, params.mask.seqlen_k - block.first_key)};
  };
  const int team = TeamMember<Config>(machine.warp()).team;
  typename Config::StagedKeys k, v;
  typename Config::StagedQueries q, d_o;
  k.load(machine, rows(params.k));
  v.load(machine, rows(params.v));
  load_queries<Config>(machine, params, block, params.q, place, q);
  load_queries<Config>(machine, params, block, params.d_o, place, d_o);
  k.store(machine, tiles.k);
  v.store(machine, tiles.v);
  q.store(machine, tiles.team[team].q);
  d_o.store(machine, tiles.team[team].d_o);
  keep_place(machine, tiles);
  machine.barrier();
}

/// The warps of a team meet.
template <class Config, class Machine>
SPARK_DEVICE void team_barrier(Machine& machine) {
  if constexpr (Config::kTeams == 1) {
    machine.barrier();
  } else {
    machine.template team_barrier<Config::kTeamWarps>();
  }
}

}  // namespace sparkbench::volta
