// A block of the backward kernel (backward.h): its place in the problem, and what it loads.
#pragma once

#include "kernels/volta/backward_config.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

/// Which keys of which head a block has.
struct BackwardBlock {
  int batch, head, first_key;

  SPARK_DEVICE std::uint32_t batch_head(const BackwardParams& params) const {
    return static_cast<std::uint32_t>(batch * params.heads + head);
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

/// The first step with a query that sees a key of the block.
template <class Config>
SPARK_DEVICE int first_step(const BackwardParams& params, const BackwardBlock& block) {
  const KeyMask& mask = params.mask;
  const int seen_from = mask.rows(block.first_key).begin;
  const int first_query = seen_from > params.query_begin ? seen_from : params.query_begin;
  return first_query / Config::kStep * Config::kStep;
}

/// Every query from this one on sees every key of the block.
template <class Config>
SPARK_DEVICE int first_unmasked(const BackwardParams& params, const BackwardBlock& block) {
  const KeyMask& mask = params.mask;
  const int last_key = block.first_key + Config::kBlockKeys - 1;
  if (last_key >= mask.seqlen_k) return params.query_end;
  return mask.rows(last_key).begin;
}

/// A step's rows of Q or dO, on their way to shared memory.
template <class Config, class Machine>
SPARK_DEVICE void load_queries(Machine& machine, const BackwardParams& params, const Half* tensor,
                               int first_query, typename Config::StagedQueries& staged) {
  using Staged = typename Config::StagedQueries;
  const BackwardBlock block = locate_backward<Config>(machine);
  const int row = first_query + Staged::first_row(machine);
  // So many chunks of 16 bytes fill no memory that 32 bits would not count them.
  const auto chunk = static_cast<std::uint32_t>(
      ((block.batch * params.mask.seqlen_q + row) * params.heads + block.head) *
          Config::QueryTile::kChunksPerRow +
      Staged::column_chunk(machine));
  staged.load_from_chunk(machine, machine.opaque(tensor + static_cast<std::size_t>(chunk) * 8),
                         params.heads * Config::kHeadDim, row, params.query_end);
}

/// Line 1. Each warp fills its own rows of every tile.
template <class Config, class Machine>
SPARK_DEVICE void load_first_tiles(Machine& machine, const BackwardParams& params, int first_query,
                                   BackwardTiles<Config>& tiles) {
  const BackwardBlock block = locate_backward<Config>(machine);
  const std::size_t offset = row_offset(block.batch, block.first_key, block.head,
                                        params.mask.seqlen_k, params.heads, Config::kHeadDim);
  const TensorRows k_rows = {params.tensors.k.data + offset, params.heads * Config::kHeadDim,
                             params.mask.seqlen_k - block.first_key};
  const TensorRows v_rows = {params.tensors.v.data + offset, k_rows.row_stride, k_rows.valid};
  const int team = TeamMember<Config>(machine.warp()).team;
  typename Config::StagedKeys k, v;
  typename Config::StagedQueries q, d_o;
  k.load(machine, k_rows);
  v.load(machine, v_rows);
  load_queries<Config>(machine, params, params.tensors.q.data, first_query, q);
  load_queries<Config>(machine, params, params.tensors.d_o.data, first_query, d_o);
  k.store(machine, tiles.k);
  v.store(machine, tiles.v);
  q.store(machine, tiles.team[team].q);
  d_o.store(machine, tiles.team[team].d_o);
  keep_place(machine, tiles);
  machine.barrier();
}

}  // namespace sparkbench::volta
