// Fused attention backward for Volta's m8n8k4: dQ, dK and dV, the scores recomputed from Q, K and
// the log-sum-exp. SparkAttention (Xu et al.), section 3.3, equation 4; FlashAttention-2, alg. 2.
//
// One block computes the gradients of 128 keys of one head over all queries that see them. Its
// warps are teams that take turns in the steps: two of four warps at head_dim 64, one of eight at
// 128.
//    1  K and V tiles, and each team's first Q and dO tiles, to shared memory
//    2  for each of a team's steps of 32 queries that see a key of the block:
//    3      log-sum-exp and D = rowsum(dO * O) to registers
//    4      S = Q K^T; dP = dO V^T                       tensor cores
//    5      S = -inf where masked                        only steps that the mask cuts
//    6      P = exp(scale S - lse)                       registers
//    7      P, 0 where dropped, as fp16 to shared memory
//    8      dS = P (dP - D), dP 0 where dropped, as fp16 to shared memory
//    9      the next Q and dO tiles from global memory to registers
//   10      dQ = dQ + dS K, by atomic adds in FP32       tensor cores
//   11      dV = dV + P^T dO;  dK = dK + dS^T Q          tensor cores
//   12      the next Q and dO tiles to shared memory
//   13  the teams' dK and dV added up
//   14  dK and dV to global memory, in fp16
// The warps of a team divide each product anew (backward_config.h) and meet three times a step:
// between lines 9 and 10, 11 and 12, 12 and the next step. Teams meet in line 13 only, so that one
// has exponentials while the other has products.
//
// What decides the speed is registers and shared memory's 128 bytes a clock: half of a warp's
// registers are 64 x 64 of dV or dK, which halves what P, dS, Q and dO are read; and what derives
// from a lane's place is computed anew in every step.
//
// FP32-ACC: everything accumulates in FP32.
// FP16-ACC: S, dP and the dQ of one step accumulate in FP16; dK, dV and the sums of dQ in FP32.
// Without line 10 (kComputesDq = false) the kernel is deterministic; backward_dq.h then has dQ.
//
// Limits: those of the forward kernel.
#pragma once

#include "kernels/volta/backward_key_gradient.h"
#include "kernels/volta/backward_query_gradient.h"
#include "kernels/volta/backward_scores_of_pair.h"
#include "kernels/volta/backward_scores_of_warp.h"

namespace sparkbench::volta {

/// Lines 3 to 8.
template <class Config, class Machine>
SPARK_DEVICE void store_scores(Machine& machine, const BackwardParams& params, int first_query,
                               BackwardTiles<Config>& tiles) {
  if constexpr (Config::kScoreWarps == 1) {
    store_scores_of_warp<Config>(machine, params, first_query, tiles);
  } else {
    store_scores_of_pair<Config>(machine, params, first_query, tiles);
  }
}

/// Lines 3 to 12.
template <class Config, class Machine>
SPARK_DEVICE void add_step(Machine& machine, const BackwardParams& params, int first_query,
                           BackwardTiles<Config>& tiles, KeyGradient& gradient) {
  machine.recompute_indices(first_query);
  store_scores<Config>(machine, params, first_query, tiles);
  machine.recompute_indices(first_query);
  typename Config::StagedQueries next_q, next_d_o;
  const int next_query = first_query + Config::kTeams * Config::kStep;
  const int query_end = queries_of_block<Config>(params, locate_backward<Config>(machine)).end;
  load_queries<Config>(machine, params.q, next_query, query_end, next_q);  // line 9
  load_queries<Config>(machine, params.d_o, next_query, query_end, next_d_o);
  team_barrier<Config>(machine);

  machine.recompute_indices(first_query);
  const TeamMember<Config> of(machine.warp());
  TeamTiles<Config>& team = tiles.team[of.team];
  if constexpr (Config::kComputesDq) {
    add_query_gradient<Config>(machine, params, first_query, of.member, tiles.k, team);  // line 10
  }
  add_key_gradient<Config>(machine, team, of.member, gradient);  // line 11
  team_barrier<Config>(machine);
  machine.recompute_indices(first_query);
  next_q.store(machine, team.q);  // line 12
  next_d_o.store(machine, team.d_o);
  team_barrier<Config>(machine);
}

template <class Config, class Machine>
SPARK_DEVICE void attention_backward(Machine& machine, const BackwardParams& params) {
  auto& tiles = machine.template shared<BackwardTiles<Config>>();
  const auto queries = [&] {
    return queries_of_block<Config>(params, locate_backward<Config>(machine));
  };
  int first_query = first_tile<Config::kStep>(queries()) +
                    Config::kStep * TeamMember<Config>(machine.warp()).team;
  load_first_tiles(machine, params, first_query, tiles);  // line 1
  KeyGradient gradient = {};
#pragma unroll 1
  for (; first_query < queries().end; first_query += Config::kTeams * Config::kStep) {  // line 2
    add_step<Config>(machine, params, first_query, tiles, gradient);
  }
  machine.recompute_indices(first_query);
  write_key_gradient(machine, params, tiles, gradient);  // lines 13 and 14
}

}  // namespace sparkbench::volta
