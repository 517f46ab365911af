// Fused attention forward for Volta's m8n8k4: O = dropout(softmax(scale Q K^T + mask)) V.
// SparkAttention (Xu et al.), section 3.2, with the online softmax of FlashAttention-2.
//
// One block computes kBlockM query rows of one head, each of its warps 32 of them:
//    1  Q and the first K and V tiles to shared memory
//    2  for each tile of kBlockN keys that a row of the warp sees:
//    3      S = Q K^T                                  tensor cores
//    4      S = -inf where masked                      only partial tiles
//    5      m = rowmax(m, S)                           registers, FP32
//    6      l += P = exp(S - m); P = 0 where dropped   registers, FP32
//    7      P as fp16 to the warp's own shared memory
//    8      O = rescale * O
//    9      O += P V                                   tensor cores
//   10      the next K and V tiles: global memory, registers, shared memory
//   11  O / l, log-sum-exp to global memory
// The schedules below have the same steps (steps.h, piece_steps.h) in different orders. Tiles that
// only other warps of the block see are staged for them (line 10) and not multiplied; tiles that no
// row of the block sees are not visited. mainloop.h has lines 1, 2 and 11.
//
// FP32-ACC accumulates S and O in FP32, FP16-ACC both in FP16, O over all tiles (the paper's
// section 3.2.1).
//
// Limits: head_dim a multiple of 8 up to 256 (padding.h); fp16 tensors whose rows are aligned to
// 16 bytes (tile/chunked_view.h); seqlen_q and seqlen_k >= 1, any.
#pragma once

#include "kernels/volta/forward/piece_steps.h"

namespace sparkbench::volta {

/// The plain order. K and V have two buffers, so a tile costs one barrier; line 7 borrows the
/// buffer that line 10 fills.
template <class Config, class Warp>
SPARK_DEVICE void attend_two_buffers(Warp& warp, int first_key) {
  const int next_key = first_key + Config::kBlockN;
  typename Config::StagedKeys next_k, next_v;
  ScoreTile<Config> tile;
  warp.begin_tile(first_key);
  warp.load_k(next_key, next_k);         // line 10
  warp.scores(first_key, tile);          // line 3
  warp.mask(first_key, tile);            // line 4
  auto softmax = warp.row_maxima(tile);  // line 5
  warp.draw_dropout(first_key, tile);
  warp.probabilities(0, Config::kKeySteps, softmax, tile);  // line 6
  warp.add_sums(softmax);
  warp.store_pass(first_key, 0, tile);  // line 7
  warp.machine().sync_warp();
  warp.load_v(next_key, next_v);
  warp.rescale(softmax);             // line 8
  warp.multiply_pass(first_key, 0);  // line 9
  warp.machine().sync_warp();
  warp.store_k(next_key, next_k);
  warp.store_v(next_key, next_v);
  warp.end_tile();
}

/// K and V have one buffer each, of 64 keys: Q is read from shared memory half as often as with two
/// buffers of 32 keys, and 64 keys cost two barriers as there. Line 7 stores P over K. In short
/// blocks of 64 columns Q is in registers, and line 7 stores P over Q's tile.
template <class Config, class Warp>
SPARK_DEVICE void attend_one_buffer(Warp& warp, int first_key) {
  static_assert(Config::kEarlySteps <= Config::kKeySteps, "a tile has no more");
  const int next_key = first_key + Config::kBlockN;
  typename Config::StagedKeys staged;
  ScoreTile<Config> tile;
  warp.begin_tile(first_key);
  warp.scores(first_key, tile);  // line 3
  DropoutOffset offset;
  if constexpr (Config::kAsksForOffsetEarly) offset = warp.load_dropout_offset();
  if constexpr (Config::kCutMask.precedes_values) warp.mask(first_key, tile);  // line 4
  warp.machine().sync_warp();      // or the compiler moves the loads up, where it has no registers
  warp.load_v(first_key, staged);  // line 10, this tile's V
  if constexpr (!Config::kCutMask.precedes_values) warp.mask(first_key, tile);
  if constexpr (Config::kAsksForOffsetEarly) {
    warp.draw_dropout(first_key, offset, tile);
  } else {
    warp.draw_dropout(first_key, tile);
  }
  auto softmax = warp.row_maxima(tile);                       // line 5
  warp.probabilities(0, Config::kEarlySteps, softmax, tile);  // line 6, the first keys
  warp.store_v(first_key, staged);
  warp.machine().barrier_of_warps();
  warp.load_k(next_key, staged);
  warp.probabilities(Config::kEarlySteps, Config::kKeySteps, softmax, tile);  // line 6, the others
  warp.rescale(softmax);                                                      // line 8
#pragma unroll
  for (int pass = 0; pass < 2; ++pass) {
    warp.store_pass(first_key, pass, tile);  // line 7
    warp.machine().sync_warp();
    warp.multiply_pass(first_key, pass);  // line 9
    warp.machine().sync_warp();
  }
  warp.add_sums(softmax);
  warp.store_k(next_key, staged);
  warp.end_tile();
}

/// head_dim 64: a warp's 32 rows of Q fit in registers and are read from shared memory once; P then
/// overlays them. K and V have two buffers, so a tile costs one barrier.
template <class Config, class Warp>
SPARK_DEVICE void attend_held_queries(Warp& warp, int first_key) {
  static_assert(Config::kEarlySteps * kGridColumns >= ForwardTiles<Config>::kPassKeys &&
                    Config::kEarlySteps <= Config::kKeySteps,
                "the first pass has P of the first keys");
  const int next_key = first_key + Config::kBlockN;
  typename Config::StagedKeys staged;
  ScoreTile<Config> tile;
  warp.begin_tile(first_key);
  warp.scores(first_key, tile);   // line 3
  warp.load_k(next_key, staged);  // line 10
  warp.mask(first_key, tile);     // line 4
  if constexpr (Config::kOrdersSoftmax) {
    warp.machine().sync_warp();
  } else {
    warp.draw_dropout(first_key, tile);
  }
  auto softmax = warp.row_maxima(tile);  // line 5
  if constexpr (Config::kOrdersSoftmax) {
    warp.draw_dropout(first_key, tile);
    warp.machine().sync_warp();
  }
  warp.probabilities(0, Config::kEarlySteps, softmax, tile);  // line 6, the first keys
  if constexpr (Config::kOrdersSoftmax) warp.machine().sync_warp();
  warp.store_k(next_key, staged);
  warp.store_pass(first_key, 0, tile);  // line 7
  warp.machine().sync_warp();
  warp.load_v(next_key, staged);
  warp.probabilities(Config::kEarlySteps, Config::kKeySteps, softmax, tile);  // line 6, the others
  warp.add_sums(softmax);
  warp.rescale(softmax);                // line 8
  warp.multiply_pass(first_key, 0);     // line 9
  warp.store_pass(first_key, 1, tile);  // line 7
  warp.machine().sync_warp();
  warp.multiply_pass(first_key, 1);  // line 9
  warp.store_v(next_key, staged);
  warp.end_tile();
}

/// head_dim above 128, and short blocks of 128: K and V have 64 keys a tile in four pieces. Two
/// pieces fit beside Q, or beside Q of each of two blocks per SM. Each piece is multiplied while
/// the next one is loaded, and costs a barrier. Line 7 overlays the next piece's buffer.
template <class Config, class Warp>
SPARK_DEVICE void attend_pieces(Warp& warp, int first_key) {
  static_assert(
      Config::kEarlySteps >= Warp::kPieceSteps && Config::kEarlySteps <= Config::kKeySteps,
      "the first piece has P of its keys");
  typename Warp::StagedKeys k;
  typename Warp::StagedValues v;
  ScoreTile<Config> tile;
  warp.load_k(first_key, 1, k);  // line 10
  warp.add_scores(0, tile);      // line 3
  warp.store_k(1, k);
  warp.end_piece();
  warp.load_v(first_key, 0, v);
  warp.add_scores(1, tile);
  if constexpr (Config::kCutMask.precedes_values) warp.mask(first_key, tile);  // line 4
  warp.store_v(0, v);
  if constexpr (!Config::kCutMask.precedes_values) warp.mask(first_key, tile);
  warp.draw_dropout(first_key, tile);
  warp.end_piece();
  auto softmax = warp.row_maxima(tile);                       // line 5
  warp.probabilities(0, Config::kEarlySteps, softmax, tile);  // line 6
  warp.store_probabilities(0, tile);                          // line 7
  warp.load_v(first_key, 1, v);
  warp.begin_next(first_key + Config::kBlockN);
  warp.probabilities(Config::kEarlySteps, Config::kKeySteps, softmax, tile);
  warp.template rescale<Config>(softmax);  // line 8
  warp.template add_values<Config>(0);     // line 9
  warp.meet();
  warp.store_v(1, v);
  warp.end_piece();
  warp.store_probabilities(1, tile);
  warp.load_k(first_key + Config::kBlockN, 0, k);
  warp.template add_values<Config>(1);
  warp.add_sums(softmax);
  warp.meet();
  warp.store_k(0, k);
  warp.end_piece();
}

/// The schedule of a Config's warp; `Of` is Config, or its GroupOf.
template <class Of, class Config, class Machine>
SPARK_DEVICE void attend_tile(PieceWarp<Config, Machine>& warp, int first_key) {
  attend_pieces<Of>(warp, first_key);
}
template <class Of, class Config, class Machine>
SPARK_DEVICE void attend_tile(ForwardWarp<Config, Machine>& warp, int first_key) {
  if constexpr (Config::kLoop == KeyLoop::kTwoBuffers) {
    attend_two_buffers<Config>(warp, first_key);
  } else if constexpr (has_one_buffer(Config::kLoop)) {
    attend_one_buffer<Config>(warp, first_key);
  } else {
    attend_held_queries<Config>(warp, first_key);
  }
}

/// The half of a tile of 64 keys that the warp sees, in the order of attend_one_buffer and of
/// attend_held_queries: as many barriers, and half of all else.
template <class Config, class Machine>
SPARK_DEVICE void attend_half(ForwardWarp<Config, Machine>& warp, int place, int half) {
  constexpr bool kHasOneBuffer = has_one_buffer(Config::kLoop);
  const int next_place = place + Config::kBlockN;
  typename Config::StagedKeys staged;
  ScoreTile<HalfOf<Config>> tile;
  warp.begin_tile(place);
  warp.scores(place, tile, half);  // line 3
  if constexpr (kHasOneBuffer) {
    warp.machine().sync_warp();
    warp.load_v(place, staged);  // line 10
  } else {
    warp.load_k(next_place, staged);
  }
  warp.mask(place, tile, half);  // line 4
  warp.draw_dropout(place, tile, half);
  auto softmax = warp.row_maxima(tile);                             // line 5
  warp.probabilities(0, HalfOf<Config>::kKeySteps, softmax, tile);  // line 6
  warp.add_sums(softmax);
  if constexpr (kHasOneBuffer) {
    warp.store_v(place, staged);
    warp.machine().barrier_of_warps();
    warp.load_k(next_place, staged);
  } else {
    warp.store_k(next_place, staged);
  }
  warp.store_pass(place, 0, tile);  // line 7
  warp.machine().sync_warp();
  if constexpr (!kHasOneBuffer) warp.load_v(next_place, staged);
  warp.rescale(softmax);            // line 8
  warp.multiply_half(place, half);  // line 9
  if constexpr (kHasOneBuffer) {
    warp.machine().sync_warp();
    warp.store_k(next_place, staged);
  } else {
    warp.store_v(next_place, staged);
  }
  warp.end_tile();
}

/// The same in the order of attend_pieces, for warps that share no rows: each half has a piece of
/// V.
template <class Config, class Machine>
SPARK_DEVICE void attend_half(PieceWarp<Config, Machine>& warp, int place, int half) {
  const int next_place = place + Config::kBlockN;
  typename PieceWarp<Config, Machine>::StagedKeys k;
  typename PieceWarp<Config, Machine>::StagedValues v;
  ScoreTile<HalfOf<Config>> tile;
  warp.load_k(place, 1, k);        // line 10
  warp.add_scores(0, tile, half);  // line 3
  warp.store_k(1, k);
  warp.end_piece();
  warp.load_v(place, 0, v);
  warp.add_scores(1, tile, half);
  warp.store_v(0, v);
  warp.mask(place, tile, half);  // line 4
  warp.draw_dropout(place, tile, half);
  warp.end_piece();
  auto softmax = warp.row_maxima(tile);                             // line 5
  warp.probabilities(0, HalfOf<Config>::kKeySteps, softmax, tile);  // line 6
  warp.add_sums(softmax);
  warp.load_v(place, 1, v);
  warp.begin_next(next_place);
  warp.rescale(softmax);  // line 8
  if (half == 0) {
    warp.store_probabilities(0, tile);  // line 7
    warp.add_values(0);                 // line 9
    warp.meet();
  }
  warp.store_v(1, v);
  warp.end_piece();
  warp.load_k(next_place, 0, k);
  if (half != 0) {
    warp.store_probabilities(1, tile);
    warp.add_values(1);
    warp.meet();
  }
  warp.store_k(0, k);
  warp.end_piece();
}

}  // namespace sparkbench::volta
