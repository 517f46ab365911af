// A block of the backward kernel (backward.h): its place in the problem, and what it loads.
#pragma once

#include "kernels/volta/backward_config.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

/// What a block computes, and where its queries are.
struct BackwardBlock {
  int batch, head, first_key;
  int query_begin;     // first step with a query that sees a key of the block
  int unmasked_begin;  // every query from this step on sees every key of the block
  int query_end;
  TensorRows q, d_o;  // of query 0
  std::uint32_t batch_head;
};

SPARK_HD int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

template <class Config, class Machine>
SPARK_DEVICE BackwardBlock locate_backward(const Machine& machine, const BackwardParams& params) {
  const KeyMask& mask = params.mask;
  BackwardBlock block;
  block.batch = machine.block(2);
  block.head = machine.block(1);
  block.first_key = machine.block(0) * Config::kBlockKeys;
  block.batch_head = static_cast<std::uint32_t>(block.batch * params.heads + block.head);
  const int last_key = block.first_key + Config::kBlockKeys - 1;
  const int seen_from = mask.causal ? block.first_key + mask.seqlen_q - mask.seqlen_k : 0;
  const int first_query = seen_from > params.query_begin ? seen_from : params.query_begin;
  block.query_begin = first_query / Config::kStep * Config::kStep;
  block.query_end = params.query_end;
  const int all_seen_from = mask.causal ? last_key + mask.seqlen_q - mask.seqlen_k : 0;
  block.unmasked_begin = last_key < mask.seqlen_k
                             ? round_up(all_seen_from > 0 ? all_seen_from : 0, Config::kStep)
                             : block.query_end;
  const int row_stride = params.heads * Config::kHeadDim;
  const std::size_t offset =
      row_offset(block.batch, 0, block.head, mask.seqlen_q, params.heads, Config::kHeadDim);
  block.q = {params.tensors.q + offset, row_stride, block.query_end};
  block.d_o = {params.tensors.d_o + offset, row_stride, block.query_end};
  return block;
}

/// Line 1. Each warp fills its own rows of every tile.
template <class Config, class Machine>
SPARK_DEVICE void load_first_tiles(Machine& machine, const BackwardParams& params,
                                   const BackwardBlock& block, BackwardTiles<Config>& tiles) {
  const std::size_t offset = row_offset(block.batch, block.first_key, block.head,
                                        params.mask.seqlen_k, params.heads, Config::kHeadDim);
  const TensorRows k_rows = {params.tensors.k + offset, block.q.row_stride,
                             params.mask.seqlen_k - block.first_key};
  const TensorRows v_rows = {params.tensors.v + offset, k_rows.row_stride, k_rows.valid};
  typename Config::StagedKeys k, v;
  typename Config::StagedQueries q, d_o;
  k.load(machine, k_rows);
  v.load(machine, v_rows);
  q.load(machine, block.q.from(block.query_begin));
  d_o.load(machine, block.d_o.from(block.query_begin));
  k.store(machine, tiles.k);
  v.store(machine, tiles.v);
  q.store(machine, tiles.q);
  d_o.store(machine, tiles.d_o);
  machine.barrier();
}

}  // namespace sparkbench::volta
