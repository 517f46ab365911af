// Fused attention backward for Volta's m8n8k4: dQ, dK and dV, the scores recomputed from Q, K and
// the log-sum-exp. SparkAttention (Xu et al.), section 3.3, equation 4; FlashAttention-2, alg. 2.
//
// One block computes the gradients of kBlockKeys keys of one head over all queries that see them,
// in steps of 32. S and P are held transposed, keys as rows: a warp has 32 keys, a quad-pair 8.
//    1  K and V tiles to shared memory
//    2  for each step of 32 queries that see a key of the block:
//    3      Q and dO tiles, log-sum-exp and D = rowsum(dO * O) to shared memory
//    4      P^T = exp(scale K Q^T - lse), 0 where masked              tensor cores, registers
//    5      dP^T = V dO^T, 0 where dropped; dS^T = P^T (dP^T - D)     tensor cores, registers
//    6      P^T (0 where dropped) and dS^T to shared memory, in fp16
//    7      dV = dV + P^T dO;  dK = dK + dS^T Q                       tensor cores
//    8      dQ = dQ + dS K, by atomic adds in fp32                    tensor cores
//    9  dK and dV to global memory, in fp16
//
// head_dim 128 would need twice the registers for dK and dV: there two warps share 32 keys, each
// does half of the step's queries in lines 4-6 and half of the columns in line 7.
// In FP16-ACC the MMAs of one step accumulate in FP16; dK, dV and dQ add the steps up in FP32.
// Without line 8 (kComputesDq = false) the kernel is deterministic; backward_dq.h then has dQ.
//
// Limits: those of the forward kernel.
#pragma once

#include "kernels/tile/matmul.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/tile/store_rows.h"
#include "kernels/tile/transposed_dropout.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/dq_accumulate.h"

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
  int key_warp;                             // which 32 keys
  int share;                                // of the warps that have these keys
  int key[Config::Layout::kRowsPerLane];    // that the lane owns, from first_key
  int query_begin;                          // first step with a query that sees a key
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
  const int seen_from = params.causal ? block.first_key + params.seqlen_q - params.seqlen_k : 0;
  const int first_query = seen_from > params.query_begin ? seen_from : params.query_begin;
  block.query_begin = first_query / Config::kStep * Config::kStep;
  return block;
}

/// Line 3.
template <class Config, class Machine>
SPARK_DEVICE void load_step(Machine& machine, const BackwardParams& params,
                            const BackwardBlock<Config>& block, int first_query,
                            BackwardTiles<Config>& tiles) {
  const std::size_t offset = row_offset(block.batch, first_query, block.head, params.seqlen_q,
                                        params.heads, Config::kHeadDim);
  const int valid = params.seqlen_q - first_query;
  load_tile<Config::kThreads>(machine, tiles.q, params.tensors.q + offset, block.row_stride, valid);
  load_tile<Config::kThreads>(machine, tiles.d_o, params.tensors.d_o + offset, block.row_stride,
                              valid);
  const int query = first_query + machine.thread();
  if (machine.thread() < Config::kStep) {
    const bool takes_part = query >= params.query_begin && query < params.query_end;
    const std::size_t index =
        lse_offset(block.batch, block.head, query, params.heads, params.seqlen_q);
    tiles.statistics.store(machine, machine.thread(),
                           load_row_statistics(machine, params.tensors.lse, params.workspace.delta,
                                               index, takes_part));
  }
}

/// Lines 4 and 5 but for the products: from S^T and dP^T to P^T and dS^T. `first_column` is the
/// first query of the warp's share in the step.
template <class Config, class Machine>
SPARK_DEVICE void softmax_gradient(Machine& machine, const BackwardParams& params,
                                   const BackwardBlock<Config>& block, int first_query,
                                   int first_column, BackwardTiles<Config>& tiles,
                                   float (&p)[Config::kQueryGroups][8],
                                   float (&ds)[Config::kQueryGroups][8]) {
  using Layout = typename Config::Layout;
  std::uint32_t keep[Layout::kRowsPerLane];
  int first_seen[Layout::kRowsPerLane];  // column of the first query that sees the key
  if constexpr (Config::kHasDropout) {
    keep_words<Config::kAccumulator>(machine, params.dropout, block.batch_head, first_query,
                                     block.first_key, block.key_warp, keep);
  }
#pragma unroll
  for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
    const int key = block.first_key + block.key[slot];
    first_seen[slot] = params.causal ? key + params.seqlen_q - params.seqlen_k - first_query : 0;
    if (key >= params.seqlen_k) first_seen[slot] = Config::kStep;
  }
#pragma unroll
  for (int group = 0; group < Config::kQueryGroups; ++group) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int slot = Layout::slot(i);
      const int column = first_column + 8 * group + Layout::column(machine.lane(), i);
      RowStatistics statistics[2];
      if ((i & 1) == 0) tiles.statistics.load_pair(machine, column, statistics);
    }
  }
}

}  // namespace sparkbench::volta
