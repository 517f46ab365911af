// Samples of several candidates, taken in turns, so that each is measured while the card is as warm
// and as short of power as while the others are. One after the other, the later ones would pay for
// the heat of the earlier.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/timing/timing.h"

namespace sparkbench {

using TakeSample = std::function<TimedSample()>;

struct SamplingClock {
  std::function<double()> seconds;       // since the first sample
  std::function<void(double)> rest_for;  // seconds, for which the GPU has nothing to do
};

/// Takes a block of samples of each candidate after the other, again and again, until every one may
/// stop (stop_rule.h), of which each keeps its own reason, or the time is up. After each sample the
/// GPU rests, so that it is busy for no more than the options' duty cycle: one that is busy all the
/// time runs into its power limit, and its clock then swings within a second. All have equally many
/// samples but for a last block that the time cuts short, and at least one. Throws what
/// `take_sample` throws.
std::vector<Timing> sample_in_turns(std::span<const TakeSample> take_sample,
                                    const TimingOptions& options, const SamplingClock& clock);

}  // namespace sparkbench
