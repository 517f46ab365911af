// Fused attention backward for Volta's m8n8k4: dQ, dK and dV, the scores recomputed from Q, K and
// the log-sum-exp. SparkAttention (Xu et al.), section 3.3, equation 4; FlashAttention-2, alg. 2.
//
// dQ kernel (attention_backward_dq): one block computes dQ of kBlockM query rows of one head. No
// block adds to another's rows, so the bits do not depend on the order of blocks.
//    1  Q and dO tiles and the first K and V tiles to shared memory; log-sum-exp and
//       D = rowsum(dO * O) to registers
//    2  for each tile of 32 keys that a row of the block sees:
//    3      S = Q K^T; dP = dO V^T                       tensor cores
//    4      S = -inf where masked                        only partial tiles
//    5      P = exp(scale S - lse)                       registers
//    6      dS = P (dP - D), dP 0 where dropped          registers
//    7      dS as fp16 to shared memory
//    8      the next K and V tiles: global memory, registers, shared memory
//    9      dQ = dQ + dS K                               tensor cores
//   10  scale * dQ to global memory, in fp16
//
// dK/dV kernel (attention_backward), which also adds up dQ unless the pass is deterministic: one
// block computes the gradients of 128 keys of one head over all queries that see them. Its warps
// form teams (warp groups) that take turns in the steps: two of four warps at head_dim 64, one of
// eight at 128.
//    1  K and V tiles, and each team's first Q and dO tiles, to shared memory
//    2  for each of a team's steps of 32 queries that see a key of the block:
//    3      log-sum-exp and D to registers
//    4      S = Q K^T; dP = dO V^T                       tensor cores
//    5      S = -inf where masked                        only partial tiles
//    6      P = exp(scale S - lse)                       registers
//    7      P, 0 where dropped, as fp16 to shared memory
//    8      dS = P (dP - D), dP 0 where dropped, as fp16 to shared memory
//    9      the next Q and dO tiles: global memory, registers, shared memory
//   10      dQ = dQ + dS K, by atomic adds in FP32       tensor cores
//   11      dV = dV + P^T dO;  dK = dK + dS^T Q          tensor cores
//   12  the teams' dK and dV added up
//   13  dK and dV to global memory, in fp16
// The warps of a team divide each product differently (config.h). Teams meet only in line 12, so
// that one has exponentials while the other has products.
//
// In windows and short sequences blocks use the dQ semaphore (dq_relay.h): line 10 waits for the
// block's turn, and after line 13 the block rounds dQ of the queries that no later block sees. In
// line 1 it does the bwd preprocess of the queries that no earlier block sees, and waits for the
// others (relay_statistics.h).
//
// The schedules below have the same steps (dq_steps.h, steps.h) in different orders. Registers and
// shared memory's 128 bytes a clock decide the speed. Half of a warp's registers are 64 x 64 of dV
// or dK, which halves the reads of P, dS, Q and dO. Lane-dependent indices are recomputed in every
// step.
//
// FP32-ACC: everything accumulates in FP32.
// FP16-ACC: S, dP and the dQ of one step or tile accumulate in FP16; dK, dV and the sums of dQ in
// FP32.
//
// Limits: those of the forward kernel.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/volta/backward/dq_steps.h"
#include "kernels/volta/backward/steps.h"

namespace sparkbench::volta {

/// The plain order: dQ of one tile of keys, partial or full. K and V have two buffers, and lines 7
/// and 8 take turns in one of them; with one buffer, line 7 overlays V.
template <bool kIsCut, class Config, class Machine>
SPARK_DEVICE void add_keys(BackwardDqWarp<Config, Machine>& warp, int first_key,
                           DqRows<Config>& rows) {
  StagedTiles<typename Config::StagedKeys> next;
  KeyTileScores<Config> tile;
  warp.scores(first_key, tile);  // line 3
  warp.gradients(first_key, tile);
  warp.draw_dropout(first_key, tile);
  warp.free_values();
#pragma unroll
  for (int g = 0; g < Config::kScoreGroups; ++g) {
    KeyGroupScores<Config> group;
    warp.widen(g, tile, group);
    if constexpr (kIsCut) warp.mask(first_key, g, group);  // line 4
    warp.drop(g, tile, group);
    warp.probabilities(g, rows, group);               // line 5
    warp.score_gradients(g, rows, group);             // line 6
    warp.store_score_gradients(first_key, g, group);  // line 7
  }
  warp.load_next(first_key, next);  // line 8
  warp.meet_score_gradients();
  warp.add_dq(first_key, rows);  // line 9
  warp.machine().barrier();
  warp.store_next(first_key, next);
  warp.machine().barrier();
}

/// head_dim 64: a warp has both S and dP of its 32 keys. It forms P while the tensor cores compute
/// dP, and the dropout mask while they compute S.
template <bool kIsCut, class Config, class Machine>
SPARK_DEVICE void add_queries_alone(BackwardWarp<Config, Machine>& warp, int place,
                                    KeyGradient<Config>& gradient) {
  constexpr int kPieces = BackwardWarp<Config, Machine>::kPieces;
  constexpr int kPiecesOfChunk = kRowGroups * kPieces / Config::QueryTile::kChunks;
  static_assert(kPiecesOfChunk * Config::QueryTile::kChunks == kRowGroups * kPieces,
                "chunks have whole pieces");
  typename BackwardWarp<Config, Machine>::Staged next;
  StepScores<Config> step;
  warp.load_statistics(place, step);  // line 3
  const int seen = warp.look_for_sums(place);
  const auto by_pieces = [](int chunk, auto beside) {
#pragma unroll
    for (int i = 0; i < kPiecesOfChunk; ++i) beside(kPiecesOfChunk * chunk + i);
  };
  warp.scores(step, [&](int chunk) {  // line 4
    by_pieces(chunk, [&](int i) {
      if (i % kPieces == kPieces - 1) warp.draw_dropout(place, i / kPieces, step);
    });
  });
  if constexpr (kIsCut) {
    // Indices that derive from it are recomputed: keeping them would spill registers.
    if constexpr (Config::kHalvesSteps) place = warp.machine().opaque(place);
    warp.mask(place, step);  // line 5
  }
  warp.await_sums(place, seen);
  warp.gradients(step, [&](int chunk) {  // line 4
    by_pieces(chunk, [&](int i) {
      warp.store_probabilities(i / kPieces, i % kPieces, step);  // lines 6 and 7
    });
  });
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) warp.store_score_gradients(g, step);  // line 8
  warp.load_next(place, next);                                               // line 9
  SPARK_UNLESS_PLANTED(kStepBarrierMissing, warp.meet(place));
  warp.add_dq(place);               // line 10
  warp.add_key_gradient(gradient);  // line 11
  warp.meet(place);
  warp.store_next(next);
  warp.end_step(place);
  warp.hand_on(place);
}

/// head_dim > 64: a warp pair splits the work by product. One computes S, the other dP, for the
/// same 32 keys (16 above 128), and each finishes 16 of the step's queries. Splitting by keys would
/// read 1.5 times as much shared memory. OfKeyHalf steps use the same split.
template <class Config, class Machine>
SPARK_DEVICE void add_queries_in_pairs(BackwardWarp<Config, Machine>& warp, int place,
                                       KeyGradient<Config>& gradient) {
  typename BackwardWarp<Config, Machine>::Staged next;
  StepScores<Config> step;
  warp.load_statistics(place, step);  // line 3
  const int seen = warp.look_for_sums(place);
  warp.scores_and_gradients(step, [&](int chunk) {  // line 4
    constexpr int kHalf = Config::QueryTile::kChunks / kQuartets;
    if (chunk == kHalf - 1) warp.draw_dropout(place, 0, step);
  });
  warp.mask(place, step);  // line 5
  warp.await_sums(place, seen);
#pragma unroll
  for (int piece = 0; piece < BackwardWarp<Config, Machine>::kPieces; ++piece) {
    warp.store_probabilities(0, piece, step);  // lines 6 and 7
  }
  warp.store_score_gradients(0, step);  // line 8
  // Otherwise the compiler moves the loads up, and waiting for the statistics waits for them, too.
  if constexpr (Config::kBorrowsValues) warp.machine().sync_warp();
  warp.load_next(place, next);  // line 9
  warp.meet(place);
  if constexpr (Config::kHalvesKeysOfDq) warp.machine().recompute_indices();
  warp.add_dq(place);               // line 10
  warp.add_key_gradient(gradient);  // line 11
  warp.meet(place);
  warp.store_next(next);
  warp.end_step(place);
  warp.hand_on(place);
}

/// A step whose queries see only one half of the block's keys skips the other half, for S and all
/// gradients. These steps come first and last. Full steps have a loop without the mask's code.
template <class Config, class Machine>
SPARK_DEVICE int add_queries_by_halves(Machine& machine, const BackwardParams& params,
                                       BackwardWarp<Config, Machine>& warp, int place,
                                       KeyGradient<Config>& gradient) {
#pragma unroll 1
  for (; warp.has_step_of_first_half(place); place = warp.next(place)) {
    BackwardWarp<OfKeyHalf<Config, 0>, Machine> half(machine, params);
    add_queries_in_pairs(half, place, gradient);
  }
#pragma unroll 1
  while (true) {
#pragma unroll 1
    for (; warp.has_full_step(place); place = warp.next(place)) {
      add_queries_alone<false>(warp, place, gradient);
    }
    if (!warp.has_step_before_last_half(place)) break;
    add_queries_alone<true>(warp, place, gradient);
    place = warp.next(place);
  }
#pragma unroll 1
  for (; warp.has_step(place); place = warp.next(place)) {
    BackwardWarp<OfKeyHalf<Config, 1>, Machine> half(machine, params);
    add_queries_in_pairs(half, place, gradient);
  }
  return place;
}

/// The dQ kernel. Consecutive full tiles have a loop without the mask's code.
template <class Config, class Machine>
SPARK_DEVICE void attention_backward_dq(Machine& machine, const BackwardParams& params) {
  constexpr int kKeys = Config::kBlockN;
  if (!WalkOf<Config>::has_work(machine, params.query_items)) return;
  BackwardDqWarp<Config, Machine> warp(machine, params);
  DqRows<Config> rows;
  warp.load_statistics(rows);
  const Range keys = warp.keys();
  int first_key = first_tile<kKeys>(keys);
  warp.stage_first_tiles(first_key);  // line 1
#pragma unroll 1
  while (warp.progress(first_key) < warp.end_of_progress(keys)) {  // line 2
#pragma unroll 1
    for (; warp.sees_all(first_key); first_key = next_tile<kKeys>(keys, first_key)) {
      add_keys<false>(warp, first_key, rows);
    }
    if (warp.progress(first_key) >= warp.end_of_progress(keys)) break;
    add_keys<true>(warp, first_key, rows);
    first_key = next_tile<kKeys>(keys, first_key);
  }
  warp.write(rows);  // line 10
}

/// The dK/dV kernel.
template <class Config, class Machine>
SPARK_DEVICE void attention_backward(Machine& machine, const BackwardParams& params) {
  if (!WalkOf<Config>::has_work(machine, params.key_items)) return;
  BackwardWarp<Config, Machine> warp(machine, params);
  int place = warp.first_place();
  warp.stage_first_tiles(place);  // line 1
  KeyGradient<Config> gradient = {};
#pragma unroll 1
  while (true) {
    if constexpr (Config::kHalvesSteps) {
      place = add_queries_by_halves(machine, params, warp, place, gradient);
    } else {
#pragma unroll 1
      for (; warp.has_step(place); place = warp.next(place)) {  // line 2
        if constexpr (Config::kScoreWarps == 1) {
          add_queries_alone<true>(warp, place, gradient);
        } else {
          add_queries_in_pairs(warp, place, gradient);
        }
      }
    }
    if (SPARK_PLANTED(kOtherHeadsOfGroupLost, warp.is_last_head(place), true)) break;
    place = warp.begin_next_head(place);
  }
  warp.finish_dq([&] { warp.write(place, gradient); });  // lines 12 and 13
}

}  // namespace sparkbench::volta
