// How many key steps, of 16 keys, of a tile a forward kernel exponentiates before P V starts. The
// other steps overlap with P V, but keep scores in registers. Neither more nor fewer are better in
// general, because the compiler schedules each differently: each kernel was measured with one to
// four, and has the fastest by the cycle model of those that spill least.
#pragma once

#include "kernels/volta/forward/choices.h"

namespace sparkbench::volta {

/// For tiles that do not exist, and for the loop with two buffers of K and V, which computes P at
/// once.
inline constexpr DropoutChoices<int> kNoEarlySteps = {4, 4};

inline constexpr KernelChoices<int> kEarlyStepsOfLong = {
    {{2, 2}, {3, 3}, {1, 1}, {2, 1}, {2, 1}, {1, 1}},
    {{3, 4}, {4, 4}, {2, 2}, {2, 2}, {1, 2}, {2, 2}}};
inline constexpr KernelChoices<int> kEarlyStepsOfShort = {
    {kNoEarlySteps, {3, 4}, kNoEarlySteps, kNoEarlySteps, {3, 3}, kNoEarlySteps},
    {kNoEarlySteps, {2, 1}, kNoEarlySteps, kNoEarlySteps, {4, 2}, kNoEarlySteps}};
inline constexpr KernelChoices<int> kEarlyStepsOfPacked = {
    {{2, 4}, {4, 3}, {3, 3}, {2, 2}, {2, 2}, {1, 1}},
    {{3, 3}, {2, 3}, {1, 3}, {4, 4}, {1, 3}, {2, 2}}};
inline constexpr KernelChoices<int> kEarlyStepsOfPatterns = {
    {kNoEarlySteps, {3, 3}, kNoEarlySteps, kNoEarlySteps, {3, 4}, {2, 1}},
    {kNoEarlySteps, {2, 2}, kNoEarlySteps, kNoEarlySteps, {3, 3}, {1, 2}}};

constexpr const KernelChoices<int>& early_steps(ForwardWalk walk) {
  return walk == ForwardWalk::kLong     ? kEarlyStepsOfLong
         : walk == ForwardWalk::kShort  ? kEarlyStepsOfShort
         : walk == ForwardWalk::kPacked ? kEarlyStepsOfPacked
                                        : kEarlyStepsOfPatterns;
}

}  // namespace sparkbench::volta
