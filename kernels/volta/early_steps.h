// How many key steps, of 16 keys, of a tile a forward kernel exponentiates before P V starts. Those
// of the others overlap with it, but keep scores in registers. The compiler takes each for another
// program, so that neither more nor fewer are better in general: each was measured with one to four
// of them, and is the fastest by the cycle model of those that spill least.
#pragma once

#include "kernels/accumulator.h"

namespace sparkbench::volta {

/// What a forward kernel walks: sequences of one length, by long or by short blocks, packed ones,
/// or the tiles of a pattern's list.
enum class ForwardWalk { kLong, kShort, kPacked, kPattern };

/// Without dropout, and with it.
struct EarlySteps {
  int plain, dropout;
};

/// Of a kernel, by the columns of its tiles.
struct EarlyStepsOfTiles {
  EarlySteps d32, d64, d80, d96, d128, d256;

  constexpr const EarlySteps& of(int head_dim) const {
    return head_dim == 32    ? d32
           : head_dim == 64  ? d64
           : head_dim == 80  ? d80
           : head_dim == 96  ? d96
           : head_dim == 128 ? d128
                             : d256;
  }
};

/// Of tiles that a kernel has not, and of the loop with two buffers of K and V, which has P at
/// once.
inline constexpr EarlySteps kNoEarlySteps = {4, 4};

/// FP32-ACC; mixed; FP16-ACC; and with O in FP16.
struct EarlyStepsOfKernels {
  EarlyStepsOfTiles fp32, mixed, fp16, fp16_o16;
};

inline constexpr EarlyStepsOfKernels kEarlyStepsOfLong = {
    {{2, 2}, {3, 3}, {1, 1}, {2, 1}, {2, 1}, {1, 1}},
    {{3, 3}, {4, 3}, {2, 2}, {1, 1}, {2, 2}, {1, 1}},
    {kNoEarlySteps, kNoEarlySteps, {1, 1}, {3, 2}, {2, 2}, {1, 1}},
    {{3, 4}, {4, 4}, {2, 2}, {2, 2}, {1, 2}, {2, 2}}};
inline constexpr EarlyStepsOfKernels kEarlyStepsOfShort = {
    {kNoEarlySteps, {2, 4}, kNoEarlySteps, kNoEarlySteps, {2, 3}, kNoEarlySteps},
    {kNoEarlySteps, {2, 2}, kNoEarlySteps, kNoEarlySteps, {2, 3}, kNoEarlySteps},
    {kNoEarlySteps, {1, 2}, kNoEarlySteps, kNoEarlySteps, kNoEarlySteps, kNoEarlySteps},
    {kNoEarlySteps, {2, 1}, kNoEarlySteps, kNoEarlySteps, {4, 2}, kNoEarlySteps}};
inline constexpr EarlyStepsOfKernels kEarlyStepsOfPacked = {
    {{2, 4}, {4, 3}, {3, 3}, {2, 2}, {2, 2}, {1, 1}},
    {{4, 4}, {4, 3}, {1, 1}, {4, 4}, {3, 3}, {1, 1}},
    {kNoEarlySteps, kNoEarlySteps, {1, 2}, {1, 2}, {4, 4}, {1, 1}},
    {{3, 3}, {2, 3}, {1, 3}, {4, 4}, {1, 3}, {2, 2}}};
inline constexpr EarlyStepsOfKernels kEarlyStepsOfPatterns = {
    {kNoEarlySteps, {3, 3}, kNoEarlySteps, kNoEarlySteps, {2, 3}, {1, 1}},
    {kNoEarlySteps, {4, 2}, kNoEarlySteps, kNoEarlySteps, {3, 3}, {1, 1}},
    {kNoEarlySteps, kNoEarlySteps, kNoEarlySteps, kNoEarlySteps, {3, 1}, {1, 1}},
    {kNoEarlySteps, {2, 2}, kNoEarlySteps, kNoEarlySteps, {2, 2}, {1, 1}}};

/// `accumulator`, `pv` and `output` as ForwardConfig has them.
constexpr int early_steps(ForwardWalk walk, Accumulator accumulator, Accumulator pv,
                          Accumulator output, int head_dim, bool has_dropout) {
  const EarlyStepsOfKernels& kernels = walk == ForwardWalk::kLong     ? kEarlyStepsOfLong
                                       : walk == ForwardWalk::kShort  ? kEarlyStepsOfShort
                                       : walk == ForwardWalk::kPacked ? kEarlyStepsOfPacked
                                                                      : kEarlyStepsOfPatterns;
  const EarlyStepsOfTiles& tiles = accumulator == Accumulator::kFp32 ? kernels.fp32
                                   : pv == Accumulator::kFp32        ? kernels.mixed
                                   : output == Accumulator::kFp32    ? kernels.fp16
                                                                     : kernels.fp16_o16;
  const EarlySteps& steps = tiles.of(head_dim);
  return has_dropout ? steps.dropout : steps.plain;
}

}  // namespace sparkbench::volta
