// The configurations that instances.h has rows of: for varlen, patterns and short blocks, and for
// SMs with 64 KiB.
#pragma once

#include "kernels/volta/backward/config.h"
#include "kernels/volta/backward/dq_config.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/rows_config.h"
#include "kernels/volta/forward/config.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench::volta {

/// The fewest columns of tensors that products of so many columns serve: more than the next fewer.
constexpr int least_head_dim(int columns) {
  return columns == 256 ? 136 : columns == 80 || columns == 96 ? columns - 8 : columns - 24;
}
/// Where only the widest fit, on SMs of 64 KiB; also of the row-wise kernels.
constexpr int least_head_dim_of_64_kib(int columns) {
  return columns == 64 ? 8 : columns == 128 ? 72 : least_head_dim(columns);
}

template <int kHeadDim, bool kHasDropout, int kWarps = forward_warps(kHeadDim),
          int kLeastHeadDim = kHeadDim>
using ForwardFp32Acc =
    ForwardConfig<Accumulator::kFp32, kHeadDim, kHasDropout, kWarps, kLeastHeadDim>;
template <int kHeadDim, bool kHasDropout, int kWarps = forward_warps(kHeadDim),
          int kLeastHeadDim = kHeadDim>
using ForwardFp16Acc =
    ForwardConfig<Accumulator::kFp16, kHeadDim, kHasDropout, kWarps, kLeastHeadDim>;

/// The backward kernel of one team for SMs of 64 KiB.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, bool kComputesDq,
          int kLeastHeadDim = kHeadDim>
using SmallBackward = BackwardShape<kAccumulator, kHeadDim, kHasDropout, kComputesDq,
                                    backward_keys_of_64_kib(kHeadDim), 1, kLeastHeadDim>;

/// The row-wise kernels around the backward products (backward/rows.h).
template <Accumulator kAccumulator, int kHeadDim>
struct StatisticsConfig
    : BackwardRowsShape<kAccumulator, kHeadDim, least_head_dim_of_64_kib(kHeadDim)> {};
template <Accumulator kAccumulator, int kHeadDim>
struct RoundDqConfig
    : BackwardRowsShape<kAccumulator, kHeadDim, least_head_dim_of_64_kib(kHeadDim)> {};

/// A configuration for packed sequences (kernels/problem/packed.h).
template <class Config>
struct Packed : Config {
  using Walk = VarlenWalk;
  static constexpr bool kAsksForOffsetEarly = false;  // it is slower so
};
/// The same for a forward pass.
template <class Config>
struct PackedForward : Packed<Config> {
  static constexpr int kEarlySteps = Config::template kEarlyStepsOf<ForwardWalk::kPacked>;
  static constexpr CutMask kCutMask = Config::template kCutMaskOf<ForwardWalk::kPacked>;
  static constexpr bool kOrdersSoftmax =
      Config::kHeadDim == 64 && Config::kHasDropout && Config::kAccumulator == Accumulator::kFp32;
};
/// The same for the dK/dV kernel. A block that keeps its coordinates also keeps its item of the
/// list. At 256 columns without dQ the coordinates take registers, and what else is kept was chosen
/// again by the cycle model.
template <class Config>
inline constexpr bool kIsWideWithoutDq = Config::kHeadDim == 256 && !Config::kComputesDq;
template <class Config>
constexpr int kept_chunks_of_packed() {
  if (kIsWideWithoutDq<Config>) {
    return Config::kAccumulator == Accumulator::kFp16 ? 6 : Config::kHasDropout ? 0 : 4;
  }
  return Config::kHeadDim == 128 && Config::kComputesDq ? 2 : Config::kKeptChunks;
}
template <class Config>
struct PackedBackward : Packed<Config> {
  static constexpr bool kMasksByEnds = false;
  static constexpr bool kKeepsPlace = false;
  static constexpr bool kKeepsItem = Config::kKeepsPlace;
  static constexpr int kKeptChunks = kept_chunks_of_packed<Config>();
  static constexpr bool kMeetsAnew =
      kIsWideWithoutDq<Config> ? Config::kAccumulator == Accumulator::kFp32 || !Config::kHasDropout
                               : Config::kMeetsAnew;
};

/// A configuration for patterns (kernels/tile/sparse_list.h).
template <class Config>
struct Sparse : Config {
  using Walk = BlockSparseWalk;
  static constexpr bool kAsksForOffsetEarly = false;  // it is slower so
};

/// The same of dK and dV.
template <class Config>
struct SparseBackward : Sparse<Config> {
  static constexpr int kKeptChunks = Config::kHeadDim == 128 ? 4 : Config::kKeptChunks;
};

/// The same for the dQ kernel.
template <class Config>
constexpr int kept_query_chunks_of_pattern() {
  constexpr bool kIsFp32 = Config::kAccumulator == Accumulator::kFp32;
  switch (Config::kHeadDim) {
    case 64:
      return kIsFp32 && Config::kHasDropout ? 2 : 4;
    case 128:
      return 6;
    default:
      return kIsFp32 && !Config::kHasDropout ? 0 : Config::kKeptChunks;
  }
}
template <class Config>
struct SparseBackwardDq : Sparse<Config> {
  static constexpr int kKeptChunks = kept_query_chunks_of_pattern<Config>();
};

/// Short blocks: more of them share an SM, of which one begins and ends while others compute, and
/// the fewer rows a block has the fewer tiles only some of them see.
///
/// A forward configuration of 128 columns: two of 128 rows an SM, for which K and V come in pieces,
/// rather than one of 256.
template <class Config>
using InPieces = ForwardConfig<Config::kAccumulator, Config::kHeadDim, Config::kHasDropout, 4,
                               Config::kLeastHeadDim, KeyLoop::kPieces>;

/// Of 64 columns: four of 64 rows an SM, with one buffer of K and V each, rather than two of 128.
template <class Config>
using OfTwoWarps = ForwardConfig<Config::kAccumulator, Config::kHeadDim, Config::kHasDropout, 2,
                                 Config::kLeastHeadDim, KeyLoop::kHeldQueriesOneBuffer>;

/// A forward configuration without lists, for the problems of short_blocks.h.
template <class Config>
struct ShortBlocks
    : std::conditional_t<Config::kHeadDim == 64, OfTwoWarps<Config>, InPieces<Config>> {
  static constexpr int kShortWindow = short_forward_window(Config::kHeadDim, Config::kAccumulator);
  static constexpr bool kHasHalves = Config::kHeadDim == 64;
  static constexpr bool kSpreadsRows = Config::kHeadDim == 128;
  static constexpr int kEarlySteps = Config::template kEarlyStepsOf<ForwardWalk::kShort>;
  static constexpr CutMask kCutMask = Config::template kCutMaskOf<ForwardWalk::kShort>;
};

/// dK/dV kernel with 64 columns: two blocks of 64 keys per SM instead of one of 128, with the same
/// number of teams, so that each key's sums have the same order.
template <Accumulator kAccumulator, bool kHasDropout, bool kComputesDq>
struct ShortBackward : BackwardShape<kAccumulator, 64, kHasDropout, kComputesDq,
                                     relay_block_keys(64), 2, least_head_dim(64)> {
  static constexpr int kShortWindow = kShortBackwardWindow;
  static constexpr int kBlocksPerSm = 2;
  static constexpr bool kMasksByEnds = kAccumulator == Accumulator::kFp32;
  static constexpr bool kKeepsPlace = false;  // two blocks have no room for it
  static constexpr bool kEndsAnew = true;
  static constexpr bool kMeetsAnew = false;
};

/// The same with dQ, by the dQ semaphore (backward/relay.h). backward/relay_plan.h says which
/// problems it serves. At 128 columns the blocks are those of other masks.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout>
struct RelayBackward
    : BackwardConfig<kAccumulator, kHeadDim, kHasDropout, true, least_head_dim(kHeadDim)> {
  static constexpr bool kRelaysDq = true;
  static_assert(RelayBackward::kStep == kRelayStep &&
                    RelayBackward::kBlockKeys == relay_block_keys(kHeadDim) &&
                    least_relay_head_dim(kHeadDim) == least_head_dim(kHeadDim),
                "plans are of these");
};
template <Accumulator kAccumulator, bool kHasDropout>
struct RelayBackward<kAccumulator, 64, kHasDropout>
    : ShortBackward<kAccumulator, kHasDropout, true> {
  static constexpr bool kRelaysDq = true;
  static constexpr bool kHalvesSteps = true;
  static constexpr int kShortWindow = 0;
  static_assert(RelayBackward::kStep == kRelayStep &&
                    least_relay_head_dim(64) == least_head_dim(64),
                "plans are of these");
};

/// dQ kernel: four blocks of 64 rows per SM, with one buffer of K and V each, instead of two of
/// 128.
template <Accumulator kAccumulator, bool kHasDropout>
struct ShortBackwardDq : BackwardDqConfig<kAccumulator, 64, kHasDropout, least_head_dim(64), 64> {
  static constexpr int kShortWindow = kShortBackwardWindow;
  static constexpr int kKeptChunks = kHasDropout ? 2 : kAccumulator == Accumulator::kFp32 ? 3 : 4;
};

/// The shape that a forward configuration has for patterns.
template <class Config>
using ForwardOfPattern = std::conditional_t<Config::kHeadDim == 128, InPieces<Config>, Config>;

/// A forward configuration for patterns.
template <class Config>
struct SparseForward : Sparse<ForwardOfPattern<Config>> {
  static constexpr bool kHasHalves = Config::kColumnWarps == 1;
  /// Whether the tiles that a warp computes whole have a loop of their own: not of FP32-ACC with
  /// dropout at 128 columns, where it spills.
  static constexpr bool kLoopsOverWhole =
      Config::kAccumulator == Accumulator::kFp16 || !Config::kHasDropout || Config::kHeadDim != 128;
  static constexpr int kEarlySteps = Config::template kEarlyStepsOf<ForwardWalk::kPattern>;
  static constexpr CutMask kCutMask = Config::template kCutMaskOf<ForwardWalk::kPattern>;
};

}  // namespace sparkbench::volta
