// Fused attention backward for Volta's m8n8k4: dQ, dK and dV, the scores recomputed from Q, K and
// the log-sum-exp. SparkAttention (Xu et al.), section 3.3, equation 4; FlashAttention-2, alg. 2.
//
// One block computes the gradients of 64 keys of one head over all queries that see them:
//    1  K and V tiles, and the first Q and dO tiles, to shared memory
//    2  for each step of 64 queries (32, where shared memory is small) that see a key of the block:
//    3      log-sum-exp and D = rowsum(dO * O) to registers
//    4      S = Q K^T, -inf where masked; dP = dO V^T       tensor cores
//    5      P = exp(scale S - lse); dS = P (dP - D), dP 0 where dropped    registers
//    6      P, 0 where dropped, and dS as fp16 to shared memory
//    7      the next Q and dO tiles from global memory to registers
//    8      dV = dV + P^T dO;  dK = dK + dS^T Q             tensor cores
//    9      dQ = dQ + dS K, by atomic adds in FP32          tensor cores
//   10      the next Q and dO tiles to shared memory
//   11  dK and dV to global memory, in fp16
// Three barriers a step: between lines 6 and 8, 9 and 10, 10 and the next step. The warps divide
// each product anew (backward_config.h).
//
// FP32-ACC: everything accumulates in FP32.
// FP16-ACC: S, dP and the products of one step accumulate in FP16, those of line 8 of 32
// queries;
// dK, dV and dQ add these up in FP32.
// Without line 9 (kComputesDq = false) the kernel is deterministic; backward_dq.h then has dQ.
//
// Limits: those of the forward kernel.
#pragma once

#include "kernels/volta/backward_key_gradient.h"
#include "kernels/volta/backward_query_gradient.h"
#include "kernels/volta/backward_scores.h"

namespace sparkbench::volta {

/// Lines 2 to 10 for the steps [first_query, query_end).
template <class Config, bool kIsMasked, class Machine>
SPARK_DEVICE void add_steps(Machine& machine, const BackwardParams& params,
                            const BackwardBlock& block, int first_query, int query_end,
                            BackwardTiles<Config>& tiles,
                            KeyGradient (&gradient)[Config::kKeyShares]) {
#pragma unroll 1
  for (; first_query < query_end; first_query += Config::kStep) {
    machine.recompute_indices();
    store_scores<Config, kIsMasked>(machine, params, block, first_query, tiles);  // lines 3 to 6
    typename Config::StagedQueries next_q, next_d_o;
    next_q.load(machine, block.q.from(first_query + Config::kStep));  // line 7
    next_d_o.load(machine, block.d_o.from(first_query + Config::kStep));
    machine.barrier();

#pragma unroll
    for (int share = 0; share < Config::kKeyShares; ++share) {
      add_key_gradient(machine, tiles, KeyGradientShare(machine.warp() + Config::kWarps * share),
                       gradient[share]);  // line 8
    }
    if constexpr (Config::kComputesDq) {
      add_query_gradient(machine, params, block, first_query, tiles);  // line 9
    }
    machine.barrier();
    next_q.store(machine, tiles.q);  // line 10
    next_d_o.store(machine, tiles.d_o);
    machine.barrier();
  }
}

template <class Config, class Machine>
SPARK_DEVICE void attention_backward(Machine& machine, const BackwardParams& params) {
  auto& tiles = machine.template shared<BackwardTiles<Config>>();
  const BackwardBlock block = locate_backward<Config>(machine, params);
  load_first_tiles(machine, params, block, tiles);  // line 1
  KeyGradient gradient[Config::kKeyShares] = {};
  const int masked_end =
      block.unmasked_begin < block.query_end ? block.unmasked_begin : block.query_end;
  const int unmasked_begin =
      block.query_begin > block.unmasked_begin ? block.query_begin : block.unmasked_begin;
  add_steps<Config, true>(machine, params, block, block.query_begin, masked_end, tiles, gradient);
  add_steps<Config, false>(machine, params, block, unmasked_begin, block.query_end, tiles,
                           gradient);
#pragma unroll
  for (int share = 0; share < Config::kKeyShares; ++share) {
    write_key_gradient(machine, params, block, tiles,
                       KeyGradientShare(machine.warp() + Config::kWarps * share),
                       gradient[share]);  // line 11
  }
}

}  // namespace sparkbench::volta
