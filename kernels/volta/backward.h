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
#include "kernels/tile/store_rows.h"
#include "kernels/volta/backward_block.h"
#include "kernels/volta/backward_query_gradient.h"

namespace sparkbench::volta {

/// Keep bits of the lane's keys, and from which query of the step on they are seen.
template <class Config>
struct StepMask {
  std::uint32_t keep[Config::Layout::kRowsPerLane];  // bit q: query q of the step
  int first_seen[Config::Layout::kRowsPerLane];      // kStep or more: by no query

  SPARK_DEVICE bool is_kept(int slot, int column) const {
    return !Config::kHasDropout || ((keep[slot] >> column) & 1u) != 0;
  }
};

template <class Config, class Machine>
SPARK_DEVICE StepMask<Config> make_step_mask(Machine& machine, const BackwardParams& params,
                                             const BackwardBlock<Config>& block, int first_query) {
  StepMask<Config> mask = {};
  if constexpr (Config::kHasDropout) {
    keep_words<Config::kAccumulator>(machine, params.dropout, block.batch_head, first_query,
                                     block.first_key, block.key_warp, mask.keep);
  }
#pragma unroll
  for (int slot = 0; slot < Config::Layout::kRowsPerLane; ++slot) {
    const int key = block.first_key + block.key[slot];
    const int causal_limit = key + params.mask.seqlen_q - params.mask.seqlen_k - first_query;
    mask.first_seen[slot] = params.mask.causal ? causal_limit : 0;
    if (key >= params.mask.seqlen_k) mask.first_seen[slot] = Config::kStep;
  }
  return mask;
}

/// The element-wise part of lines 4 and 5: p holds scale-free scores and becomes the dropped P^T,
/// ds holds dP^T before dropout and becomes dS^T. Columns count from the step's first query.
template <class Config, class Machine>
SPARK_DEVICE void softmax_gradient(Machine& machine, const BackwardParams& params,
                                   const StepMask<Config>& mask, int first_column,
                                   StatisticsTile<Config::kStep>& statistics,
                                   float (&p)[Config::kQueryGroups][8],
                                   float (&ds)[Config::kQueryGroups][8]) {
  using Layout = typename Config::Layout;
  const float keep_scale = Config::kHasDropout ? params.dropout.keep_scale() : 1.0f;
#pragma unroll
  for (int group = 0; group < Config::kQueryGroups; ++group) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int slot = Layout::slot(i);
      const int column = first_column + 8 * group + Layout::column(machine.lane(), i);
      const RowStatistics row = statistics.load(machine, column);
      const float exact_p = machine.exp2(machine.fma(p[group][i], params.scale_log2, row.offset));
      const float seen_p = column >= mask.first_seen[slot] ? exact_p : 0.0f;
      const bool is_kept = mask.is_kept(slot, column);
      const float dp = is_kept ? ds[group][i] : 0.0f;
      ds[group][i] = seen_p * machine.fma(dp, keep_scale, -row.delta);
      p[group][i] = is_kept ? seen_p : 0.0f;
    }
  }
}

/// Line 6: a warp's share of P^T or dS^T, rounded to fp16.
template <class Config, class Machine>
SPARK_DEVICE void store_transposed(Machine& machine, const BackwardBlock<Config>& block,
                                   const float (&value)[Config::kQueryGroups][8],
                                   SharedTile<Config::kBlockKeys, Config::kStep>& tile) {
  const int row = 32 * block.key_warp + 8 * quad_pair(machine.lane()) + owned_row(machine.lane());
#pragma unroll
  for (int group = 0; group < Config::kQueryGroups; ++group) {
    OperandFragment halves[2];
    to_operand_rows<Config::kAccumulator>(machine, value[group], halves);
    const Bits128 bits{
        {halves[0].pair[0], halves[0].pair[1], halves[1].pair[0], halves[1].pair[1]}};
    machine.store_shared(tile.at(row, block.share * Config::kQueryGroups + group), bits);
  }
}

/// Line 7: gradient = gradient + value * rows, value being P^T or dS^T, rows dO or Q.
template <class Config, class Machine>
SPARK_DEVICE void add_key_gradient(Machine& machine, const BackwardBlock<Config>& block,
                                   SharedTile<Config::kBlockKeys, Config::kStep>& value,
                                   SharedTile<Config::kStep, Config::kHeadDim>& rows,
                                   float (&gradient)[8][8]) {
  const int row = 32 * block.key_warp + 8 * quad_pair(machine.lane()) + owned_row(machine.lane());
  OperandFragment value_rows[Config::kStep / 8][2];
#pragma unroll
  for (int group = 0; group < Config::kStep / 8; ++group) {
    load_operands(machine, value_rows[group], value, row, group);
  }
  float unit[Config::Layout::kRowsPerLane];
#pragma unroll
  for (float& factor : unit) factor = 1.0f;
  matmul_accumulate<Config::kAccumulator>(machine, value_rows, rows, 4 * block.share, unit,
                                          gradient);
}

/// Line 9: one of dK and dV, multiplied by `factor`.
template <class Config, class Machine>
SPARK_DEVICE void write_key_gradient(Machine& machine, const BackwardParams& params,
                                     const BackwardBlock<Config>& block, Half* tensor, float factor,
                                     float (&gradient)[8][8]) {
  using Layout = typename Config::Layout;
  const int key = block.first_key + block.key[Layout::operand_slot(machine.lane())];
  Half* row = tensor +
              row_offset(block.batch, key, block.head, params.mask.seqlen_k, params.heads,
                         Config::kHeadDim) +
              64 * block.share;
  float factors[Layout::kRowsPerLane];
#pragma unroll
  for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) factors[slot] = factor;
  store_rows<Config::kAccumulator>(machine, row, key < params.mask.seqlen_k, factors, gradient);
}

template <class Config, class Machine>
SPARK_DEVICE void attention_backward(Machine& machine, const BackwardParams& params) {
  auto& tiles = machine.template shared<BackwardTiles<Config>>();
  const BackwardBlock<Config> block = locate_backward<Config>(machine, params);
  load_keys<Config>(machine, params, block, tiles);  // line 1
  const int kv_row =
      permuted_key(block.key_warp, 8 * quad_pair(machine.lane()) + owned_row(machine.lane()));
  const int first_column = 8 * Config::kQueryGroups * block.share;

  float dk[8][8] = {}, dv[8][8] = {};  // [32, 64] a warp
  for (int query = block.query_begin; query < params.query_end; query += Config::kStep) {  // line 2
    machine.barrier();
    load_step<Config>(machine, params, block, query, tiles);  // line 3
    machine.barrier();

    float p[Config::kQueryGroups][8], ds[Config::kQueryGroups][8];
    matmul_transposed<Config::kAccumulator>(machine, tiles.k, kv_row, tiles.q, first_column,
                                            p);  // line 4
    matmul_transposed<Config::kAccumulator>(machine, tiles.v, kv_row, tiles.d_o, first_column,
                                            ds);  // line 5
    const StepMask<Config> mask = make_step_mask<Config>(machine, params, block, query);
    softmax_gradient<Config>(machine, params, mask, first_column, tiles.statistics, p, ds);
    store_transposed<Config>(machine, block, p, tiles.p);    // line 6
    store_transposed<Config>(machine, block, ds, tiles.ds);  // line 6
    machine.barrier();

    add_key_gradient<Config>(machine, block, tiles.p, tiles.d_o, dv);  // line 7
    add_key_gradient<Config>(machine, block, tiles.ds, tiles.q, dk);   // line 7
    if constexpr (Config::kComputesDq) {
      add_query_gradient<Config>(machine, params, block, query, tiles);  // line 8
    }
  }
  const float keep_scale = Config::kHasDropout ? params.dropout.keep_scale() : 1.0f;
  write_key_gradient<Config>(machine, params, block, params.tensors.dk, params.scale,
                             dk);  // line 9
  write_key_gradient<Config>(machine, params, block, params.tensors.dv, keep_scale,
                             dv);  // line 9
}

}  // namespace sparkbench::volta
