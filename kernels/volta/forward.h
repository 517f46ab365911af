// Fused attention forward for Volta's m8n8k4: O = dropout(softmax(scale Q K^T + mask)) V.
// SparkAttention (Xu et al.), section 3.2, with the online softmax of FlashAttention-2.
//
// One block computes kBlockM = 128 query rows of one head, each of its four warps 32 of them, a
// quad-pair 8:
//    1  Q tile to shared memory
//    2  for each tile of kBlockN = 64 keys that a row of the block may see:
//    3      K and V tiles to shared memory
//    4      S = Q K^T                                  tensor cores
//    5      S = -inf where masked                      only tiles that the mask cuts
//    6      m, l, P = online softmax of S, in FP32     registers
//    7      P = 0 where dropped                        registers
//    8      O = rescale * O + P V                      P from registers, tensor cores
//    9  O / l, log-sum-exp to global memory
//
// FP32-ACC: S and O accumulate in FP32; P changes lanes to become an A operand (figure 8b).
// FP16-ACC: S accumulates in FP16, and so does P V inside one tile of keys; the running O and the
// softmax are FP32. P is an A operand where it stands (figure 8a).
//
// Limits: head_dim 64 or 128; fp16 tensors, 16-byte aligned; seqlen_q and seqlen_k >= 1, any.
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/matmul.h"
#include "kernels/tile/online_softmax.h"
#include "kernels/tile/store_rows.h"
#include "kernels/volta/forward_params.h"

namespace sparkbench::volta {

inline constexpr int kForwardBlockM = 128;

template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout>
struct ForwardConfig {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr bool kHasDropout = kDropout;
  static constexpr int kBlockM = kForwardBlockM;
  static constexpr int kBlockN = 64;
  static constexpr int kRowsPerWarp = 32;
  static constexpr int kThreads = kBlockM / kRowsPerWarp * 32;
  static constexpr int kKeyGroups = kBlockN / 8;
  static constexpr int kOutputGroups = kHeadDim / 8;
  using Layout = RowLayout<kAccumulator>;

  static_assert(kHeadDim % 64 == 0, "a row of a shared tile is a multiple of eight 16-byte chunks");
  static_assert(kBlockN == 64, "a Philox call of the dropout mask covers 64 keys");
};

/// All of a block's shared memory.
template <class Config>
struct ForwardTiles {
  SharedTile<Config::kBlockM, Config::kHeadDim> q;
  SharedTile<Config::kBlockN, Config::kHeadDim> k;
  SharedTile<Config::kBlockN, Config::kHeadDim> v;
};

/// Which query rows of which head a block computes, and how far its keys reach.
struct ForwardBlock {
  int batch, head, first_row;
  int key_end;  // keys from here on are masked for every row of the block
};

/// Causal tiles differ in length: the longest start first, so that short ones fill the last wave.
template <class Config, class Machine>
SPARK_DEVICE ForwardBlock locate_block(const Machine& machine, const ForwardParams& params) {
  const int tiles = (params.mask.seqlen_q + Config::kBlockM - 1) / Config::kBlockM;
  const int tile = params.mask.causal ? tiles - 1 - machine.block(0) : machine.block(0);
  const int first_row = tile * Config::kBlockM;
  const int last_row = first_row + Config::kBlockM - 1;
  return {machine.block(2), machine.block(1), first_row, params.mask.visible(last_row)};
}

/// Where this block's head begins in each tensor.
struct HeadPointers {
  const Half *q, *k, *v;   // of the block's first query row, and of key 0
  std::size_t row_stride;  // in halves
  std::uint32_t batch_head;
};

template <class Config>
SPARK_DEVICE HeadPointers head_pointers(const ForwardParams& params, const ForwardBlock& block) {
  const std::size_t q_offset = row_offset(block.batch, block.first_row, block.head,
                                          params.mask.seqlen_q, params.heads, Config::kHeadDim);
  const std::size_t k_offset =
      row_offset(block.batch, 0, block.head, params.mask.seqlen_k, params.heads, Config::kHeadDim);
  return {params.tensors.q + q_offset, params.tensors.k + k_offset, params.tensors.v + k_offset,
          static_cast<std::size_t>(params.heads) * Config::kHeadDim,
          static_cast<std::uint32_t>(block.batch * params.heads + block.head)};
}

/// S = Q K^T for the warp's 32 rows: [32, kBlockN], in RowLayout's order.
template <class Config, class Machine>
SPARK_DEVICE void matmul_qk(Machine& machine, ForwardTiles<Config>& tiles,
                            float (&score)[Config::kKeyGroups][8]) {
  const int lane = machine.lane();
  const int q_row = Config::kRowsPerWarp * machine.warp() + 8 * quad_pair(lane) + owned_row(lane);
  matmul_transposed<Config::kAccumulator>(machine, tiles.q, q_row, tiles.k, 0, score);
}

/// O = rescale * O + P V, P going from registers to registers.
template <class Config, class Machine>
SPARK_DEVICE void matmul_pv(Machine& machine, ForwardTiles<Config>& tiles,
                            const float (&p)[Config::kKeyGroups][8],
                            const float (&rescale)[Config::Layout::kRowsPerLane],
                            float (&o)[Config::kOutputGroups][8]) {
  OperandFragment p_rows[Config::kKeyGroups][2];
#pragma unroll
  for (int group = 0; group < Config::kKeyGroups; ++group) {
    to_operand_rows<Config::kAccumulator>(machine, p[group], p_rows[group]);
  }
  matmul_accumulate<Config::kAccumulator>(machine, p_rows, tiles.v, 0, rescale, o);
}

/// l = the row sums over every lane, and what O must be multiplied by: 1 / l, times 1 / (1 - p)
/// where values were dropped. A row that saw no key has l = 0 and gets O = 0; a NaN stays.
template <class Config, class Machine>
SPARK_DEVICE void normalization(Machine& machine, const ForwardParams& params,
                                const OnlineSoftmax<Config::kAccumulator>& softmax,
                                float (&l)[Config::Layout::kRowsPerLane],
                                float (&factor)[Config::Layout::kRowsPerLane]) {
#pragma unroll
  for (int slot = 0; slot < Config::Layout::kRowsPerLane; ++slot) {
    l[slot] = softmax.row_sum(machine, slot);
    factor[slot] = l[slot] == 0.0f ? 0.0f : machine.reciprocal(l[slot]);
    if constexpr (Config::kHasDropout) factor[slot] *= params.dropout.keep_scale();
  }
}

/// Stores O / l, rounded to fp16, and the log-sum-exp.
template <class Config, class Machine>
SPARK_DEVICE void write_output(Machine& machine, const ForwardParams& params,
                               const ForwardBlock& block,
                               const OnlineSoftmax<Config::kAccumulator>& softmax,
                               float (&o)[Config::kOutputGroups][8]) {
  using Layout = typename Config::Layout;
  float l[Layout::kRowsPerLane], factor[Layout::kRowsPerLane];
  normalization<Config>(machine, params, softmax, l, factor);

  const int slot = Layout::operand_slot(machine.lane());
  const int row =
      block.first_row + Config::kRowsPerWarp * machine.warp() + Layout::row(machine.lane(), slot);
  const bool is_inside = row < params.mask.seqlen_q;
  Half* o_row = params.tensors.o + row_offset(block.batch, row, block.head, params.mask.seqlen_q,
                                              params.heads, Config::kHeadDim);
  store_rows<Config::kAccumulator>(machine, o_row, is_inside, factor, o);

  const float lse = machine.fma(softmax.m[slot], params.scale, kLn2 * machine.log2(l[slot]));
  const std::size_t lse_index =
      lse_offset(block.batch, block.head, row, params.heads, params.mask.seqlen_q);
  if (is_inside) machine.store_global(params.tensors.lse + lse_index, lse);
}

template <class Config, class Machine>
SPARK_DEVICE void attention_forward(Machine& machine, const ForwardParams& params) {
  auto& tiles = machine.template shared<ForwardTiles<Config>>();
  const ForwardBlock block = locate_block<Config>(machine, params);
  const HeadPointers head = head_pointers<Config>(params, block);
  const int warp_row = block.first_row + Config::kRowsPerWarp * machine.warp();
  load_tile<Config::kThreads>(machine, tiles.q, head.q, head.row_stride,
                              params.mask.seqlen_q - block.first_row);  // line 1

  OnlineSoftmax<Config::kAccumulator> softmax;
  float o[Config::kOutputGroups][8] = {};  // [32, kHeadDim] a warp
  for (int first_key = 0; first_key < block.key_end; first_key += Config::kBlockN) {  // line 2
    const std::size_t key_offset = static_cast<std::size_t>(first_key) * head.row_stride;
    const int valid_keys = params.mask.seqlen_k - first_key;
    machine.barrier();
    load_tile<Config::kThreads>(machine, tiles.k, head.k + key_offset, head.row_stride,
                                valid_keys);  // line 3
    load_tile<Config::kThreads>(machine, tiles.v, head.v + key_offset, head.row_stride,
                                valid_keys);  // line 3
    machine.barrier();

    float p[Config::kKeyGroups][8];        // [32, kBlockN] a warp: scores, then probabilities
    matmul_qk<Config>(machine, tiles, p);  // line 4
    if (first_key + Config::kBlockN > params.mask.visible(warp_row)) {
      mask_scores<Config::kAccumulator>(p, params.mask, machine.lane(), warp_row,
                                        first_key);  // line 5
    }
    float rescale[Config::Layout::kRowsPerLane];
    softmax.update(machine, p, params.scale_log2, rescale);  // line 6
    if constexpr (Config::kHasDropout) {
      drop_probabilities<Config::kAccumulator>(p, params.dropout, machine.lane(), head.batch_head,
                                               warp_row,
                                               first_key / Config::kBlockN);  // line 7
    }
    matmul_pv<Config>(machine, tiles, p, rescale, o);  // line 8
  }
  write_output<Config>(machine, params, block, softmax, o);  // line 9
}

}  // namespace sparkbench::volta
