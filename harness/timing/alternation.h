// Samples of several contenders, taken in turns, so that each is measured while the card is as warm
// and as short of power as while the others are. One after the other, the later ones would pay for
// the heat of the earlier.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/timing/timing.h"

namespace sparkbench {

using TakeSample = std::function<TimedSample()>;

/// Takes a block of samples of each contender after the other, again and again, until every one may
/// stop (stop_rule.h), of which each keeps its own reason, or the time is up. All have equally many
/// samples but for a last block that the time cuts short, and at least one. `seconds` tells the
/// time since the first. Throws what `take_sample` throws.
std::vector<Timing> sample_in_turns(std::span<const TakeSample> take_sample,
                                    const TimingOptions& options,
                                    const std::function<double()>& seconds);

}  // namespace sparkbench
