// A block of the backward kernel (backward.h): its constants, its shared memory, its place in the
// problem, and what it loads.
#pragma once

#include "kernels/tile/row_layout.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/tile/shared_tile.h"
#include "kernels/tile/transposed_dropout.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout, bool kDq>
struct BackwardConfig {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr bool kHasDropout = kDropout;
  static constexpr bool kComputesDq = kDq;
  static constexpr int kStep = 32;  // queries
  static constexpr int kWarps = 4;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpsPerKey = kHeadDim / 64;  // warps that share 32 keys
  static constexpr int kKeyWarps = kWarps / kWarpsPerKey;
  static constexpr int kBlockKeys = 32 * kKeyWarps;
  static constexpr int kQueryGroups = kStep / 8 / kWarpsPerKey;  // of a warp, lines 4 to 6
  using Layout = RowLayout<kAccumulator>;

  static_assert(kHeadDim == 64 || kHeadDim == 128, "64 columns of dK and dV fill the registers");
  static_assert(kBlockKeys % 64 == 0, "a Philox call of the dropout mask covers 64 keys");
};

/// All of a block's shared memory. P^T and dS^T have a row per key in the order of their warps'
/// rows (permuted_key).
template <class Config>
struct BackwardTiles {
  SharedTile<Config::kBlockKeys, Config::kHeadDim> k, v;
  SharedTile<Config::kStep, Config::kHeadDim> q, d_o;
  SharedTile<Config::kBlockKeys, Config::kStep> p, ds;
  StatisticsTile<Config::kStep> statistics;
};

/// What a block computes, and where this lane stands in it.
template <class Config>
struct BackwardBlock {
  int batch, head, first_key;
  std::size_t row_stride;  // of every tensor, in halves
  std::uint32_t batch_head;
  int key_warp;                           // which 32 keys
  int share;                              // of the warps that have these keys
  int key[Config::Layout::kRowsPerLane];  // that the lane owns, from first_key
  int query_begin;                        // first step with a query that sees a key
};

template <class Config, class Machine>
SPARK_DEVICE BackwardBlock<Config> locate_backward(const Machine& machine,
                                                   const BackwardParams& params) {
  BackwardBlock<Config> block;
  block.batch = machine.block(2);
  block.head = machine.block(1);
  block.first_key = machine.block(0) * Config::kBlockKeys;
  block.row_stride = static_cast<std::size_t>(params.heads) * Config::kHeadDim;
  block.batch_head = static_cast<std::uint32_t>(block.batch * params.heads + block.head);
  block.key_warp = machine.warp() % Config::kKeyWarps;
  block.share = machine.warp() / Config::kKeyWarps;
#pragma unroll
  for (int slot = 0; slot < Config::Layout::kRowsPerLane; ++slot) {
    block.key[slot] = permuted_key(block.key_warp, Config::Layout::row(machine.lane(), slot));
  }
  const int seen_from =
      params.mask.causal ? block.first_key + params.mask.seqlen_q - params.mask.seqlen_k : 0;
  const int first_query = seen_from > params.query_begin ? seen_from : params.query_begin;
  block.query_begin = first_query / Config::kStep * Config::kStep;
  return block;
}

/// Line 1.
template <class Config, class Machine>
SPARK_DEVICE void load_keys(Machine& machine, const BackwardParams& params,
                            const BackwardBlock<Config>& block, BackwardTiles<Config>& tiles) {
  const std::size_t offset = row_offset(block.batch, block.first_key, block.head,
                                        params.mask.seqlen_k, params.heads, Config::kHeadDim);
  const int valid = params.mask.seqlen_k - block.first_key;
  load_tile<Config::kThreads>(machine, tiles.k, params.tensors.k + offset, block.row_stride, valid);
  load_tile<Config::kThreads>(machine, tiles.v, params.tensors.v + offset, block.row_stride, valid);
}

/// Line 3.
template <class Config, class Machine>
SPARK_DEVICE void load_step(Machine& machine, const BackwardParams& params,
                            const BackwardBlock<Config>& block, int first_query,
                            BackwardTiles<Config>& tiles) {
  const std::size_t offset = row_offset(block.batch, first_query, block.head, params.mask.seqlen_q,
                                        params.heads, Config::kHeadDim);
  const int valid = params.mask.seqlen_q - first_query;
  load_tile<Config::kThreads>(machine, tiles.q, params.tensors.q + offset, block.row_stride, valid);
  load_tile<Config::kThreads>(machine, tiles.d_o, params.tensors.d_o + offset, block.row_stride,
                              valid);
  const int query = first_query + machine.thread();
  if (machine.thread() < Config::kStep) {
    const bool takes_part = query >= params.query_begin && query < params.query_end;
    const std::size_t index =
        lse_offset(block.batch, block.head, query, params.heads, params.mask.seqlen_q);
    tiles.statistics.store(machine, machine.thread(),
                           load_row_statistics(machine, params.tensors.lse, params.workspace.delta,
                                               index, takes_part));
  }
}

}  // namespace sparkbench::volta
