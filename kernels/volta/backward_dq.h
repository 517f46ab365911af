// dQ alone, query rows as blocks, for the deterministic backward pass of Volta's m8n8k4: no block
// adds to another's rows, so the bits do not depend on who comes first. Costs two products more
// than adding dQ up in backward.h (S and dP are computed twice), and needs no workspace for dQ.
//
// One block computes dQ for kBlockM query rows of one head, each warp 32 of them:
//    1  Q and dO tiles to shared memory; log-sum-exp and D = rowsum(dO * O) to registers
//    2  for each tile of kBlockN = 64 keys that a row of the block may see:
//    3      K and V tiles to shared memory
//    4      S = Q K^T, -inf where masked               tensor cores
//    5      dP = dO V^T, 0 where dropped               tensor cores
//    6      dS = exp(scale S - lse) (dP - D)           registers
//    7      dQ = dQ + dS K                             dS from registers, tensor cores
//    8  scale * dQ to global memory, in fp16
//
// Limits: those of the forward kernel.
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/matmul.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/tile/store_rows.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout>
struct BackwardDqConfig {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr bool kHasDropout = kDropout;
  static constexpr int kBlockM = 8192 / kHeadDim;  // Q and dO tiles of 16 KiB each
  static constexpr int kBlockN = 64;
  static constexpr int kThreads = kBlockM;
  static constexpr int kKeyGroups = kBlockN / 8;
  static constexpr int kOutputGroups = kHeadDim / 8;
  using Layout = RowLayout<kAccumulator>;

  static_assert(kBlockM % 32 == 0, "a warp has 32 rows, so a block has a thread a row");
  static_assert(kBlockN == 64, "a Philox call of the dropout mask covers 64 keys");
};

/// All of a block's shared memory.
template <class Config>
struct BackwardDqTiles {
  SharedTile<Config::kBlockM, Config::kHeadDim> q, d_o;
  SharedTile<Config::kBlockN, Config::kHeadDim> k, v;
};

/// What a block computes, and this lane's rows of it.
template <class Config>
struct BackwardDqBlock {
  int batch, head, first_row;
  int warp_row;            // first row of the warp
  int operand_row;         // that the lane feeds as A
  std::size_t row_stride;  // of every tensor, in halves
  std::uint32_t batch_head;
  RowStatistics statistics[Config::Layout::kRowsPerLane];
};

template <class Config, class Machine>
SPARK_DEVICE BackwardDqBlock<Config> locate_dq(Machine& machine, const BackwardParams& params) {
  const int lane = machine.lane();
  BackwardDqBlock<Config> block;
  block.batch = machine.block(2);
  block.head = machine.block(1);
  block.first_row = machine.block(0) * Config::kBlockM;
  block.warp_row = block.first_row + 32 * machine.warp();
  block.operand_row = 32 * machine.warp() + 8 * quad_pair(lane) + owned_row(lane);
  block.row_stride = static_cast<std::size_t>(params.heads) * Config::kHeadDim;
  block.batch_head = static_cast<std::uint32_t>(block.batch * params.heads + block.head);
#pragma unroll
  for (int slot = 0; slot < Config::Layout::kRowsPerLane; ++slot) {
    const int row = block.warp_row + Config::Layout::row(lane, slot);
    const std::size_t index =
        lse_offset(block.batch, block.head, row, params.heads, params.mask.seqlen_q);
    block.statistics[slot] = load_row_statistics(
        machine, params.tensors.lse, params.workspace.delta, index, row < params.mask.seqlen_q);
  }
  return block;
}

/// Line 1.
template <class Config, class Machine>
SPARK_DEVICE void load_queries(Machine& machine, const BackwardParams& params,
                               const BackwardDqBlock<Config>& block,
                               BackwardDqTiles<Config>& tiles) {
  const std::size_t offset = row_offset(block.batch, block.first_row, block.head,
                                        params.mask.seqlen_q, params.heads, Config::kHeadDim);
  const int valid = params.mask.seqlen_q - block.first_row;
  load_tile<Config::kThreads>(machine, tiles.q, params.tensors.q + offset, block.row_stride, valid);
  load_tile<Config::kThreads>(machine, tiles.d_o, params.tensors.d_o + offset, block.row_stride,
                              valid);
}

/// Line 3.
template <class Config, class Machine>
SPARK_DEVICE void load_keys(Machine& machine, const BackwardParams& params,
                            const BackwardDqBlock<Config>& block, int first_key,
                            BackwardDqTiles<Config>& tiles) {
  const std::size_t offset = row_offset(block.batch, first_key, block.head, params.mask.seqlen_k,
                                        params.heads, Config::kHeadDim);
  const int valid = params.mask.seqlen_k - first_key;
  load_tile<Config::kThreads>(machine, tiles.k, params.tensors.k + offset, block.row_stride, valid);
  load_tile<Config::kThreads>(machine, tiles.v, params.tensors.v + offset, block.row_stride, valid);
}

/// Line 6: ds holds dP and becomes dS.
template <class Config, class Machine>
SPARK_DEVICE void softmax_gradient(Machine& machine, const BackwardParams& params,
                                   const BackwardDqBlock<Config>& block,
                                   const float (&score)[Config::kKeyGroups][8],
                                   float (&ds)[Config::kKeyGroups][8]) {
  const float keep_scale = Config::kHasDropout ? params.dropout.keep_scale() : 1.0f;
#pragma unroll
  for (int group = 0; group < Config::kKeyGroups; ++group) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const RowStatistics& row = block.statistics[Config::Layout::slot(i)];
      const float p = machine.exp2(machine.fma(score[group][i], params.scale_log2, row.offset));
      ds[group][i] = p * machine.fma(ds[group][i], keep_scale, -row.delta);
    }
  }
}

/// Line 7.
template <class Config, class Machine>
SPARK_DEVICE void matmul_ds_k(Machine& machine, BackwardDqTiles<Config>& tiles,
                              const float (&ds)[Config::kKeyGroups][8],
                              float (&dq)[Config::kOutputGroups][8]) {
  OperandFragment ds_rows[Config::kKeyGroups][2];
#pragma unroll
  for (int group = 0; group < Config::kKeyGroups; ++group) {
    to_operand_rows<Config::kAccumulator>(machine, ds[group], ds_rows[group]);
  }
  float unit[Config::Layout::kRowsPerLane];
#pragma unroll
  for (float& factor : unit) factor = 1.0f;
  matmul_accumulate<Config::kAccumulator>(machine, ds_rows, tiles.k, 0, unit, dq);
}

/// Line 8.
template <class Config, class Machine>
SPARK_DEVICE void write_dq(Machine& machine, const BackwardParams& params,
                           const BackwardDqBlock<Config>& block,
                           float (&dq)[Config::kOutputGroups][8]) {
  const int row = block.first_row + block.operand_row;
  float factor[Config::Layout::kRowsPerLane];
#pragma unroll
  for (float& scale : factor) scale = params.scale;
  Half* dq_row = params.tensors.dq + row_offset(block.batch, row, block.head, params.mask.seqlen_q,
                                                params.heads, Config::kHeadDim);
  store_rows<Config::kAccumulator>(machine, dq_row, row < params.mask.seqlen_q, factor, dq);
}

template <class Config, class Machine>
SPARK_DEVICE void attention_backward_dq(Machine& machine, const BackwardParams& params) {
  auto& tiles = machine.template shared<BackwardDqTiles<Config>>();
  const BackwardDqBlock<Config> block = locate_dq<Config>(machine, params);
  load_queries<Config>(machine, params, block, tiles);  // line 1
  const int key_end = params.mask.visible(block.first_row + Config::kBlockM - 1);

  float dq[Config::kOutputGroups][8] = {};                                      // [32, kHeadDim]
  for (int first_key = 0; first_key < key_end; first_key += Config::kBlockN) {  // line 2
    machine.barrier();
    load_keys<Config>(machine, params, block, first_key, tiles);  // line 3
    machine.barrier();

    float s[Config::kKeyGroups][8], ds[Config::kKeyGroups][8];  // [32, kBlockN] a warp
    matmul_transposed<Config::kAccumulator>(machine, tiles.q, block.operand_row, tiles.k, 0,
                                            s);  // line 4
    if (first_key + Config::kBlockN > params.mask.visible(block.warp_row)) {
      mask_scores<Config::kAccumulator>(s, params.mask, machine.lane(), block.warp_row,
                                        first_key);  // line 4
    }
    matmul_transposed<Config::kAccumulator>(machine, tiles.d_o, block.operand_row, tiles.v, 0,
                                            ds);  // line 5
    if constexpr (Config::kHasDropout) {
      drop_probabilities<Config::kAccumulator>(ds, params.dropout, machine.lane(), block.batch_head,
                                               block.warp_row,
                                               first_key / Config::kBlockN);  // line 5
    }
    softmax_gradient<Config>(machine, params, block, s, ds);  // line 6
    matmul_ds_k<Config>(machine, tiles, ds, dq);              // line 7
  }
  write_dq<Config>(machine, params, block, dq);  // line 8
}

}  // namespace sparkbench::volta
