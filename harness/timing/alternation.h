// Interleaved samples of several candidates, so that all are measured at the same temperature and
// power headroom of the card. Timed one after the other, later candidates would run on a card that
// the earlier ones heated.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/timing/timing.h"
#include "results/record/run_record.h"

namespace sparkbench {

using TakeSample = std::function<TimedSample()>;

struct SamplingClock {
  std::function<double()> seconds;       // since the first sample
  std::function<void(double)> rest_for;  // sleeps for that many seconds while the GPU is idle
};

/// Takes blocks of samples from the candidates in turn until every candidate may stop (stop_rule.h)
/// or the time is up. Each candidate keeps its own reason to stop. After each sample the GPU rests,
/// so that it is busy for at most the method's duty cycle: a GPU that is always busy runs into its
/// power limit, and its clock then oscillates within a second. All candidates have equally many
/// samples, except for a last block that the time cuts short, and at least one. Throws what
/// `take_sample` throws.
std::vector<Timing> sample_in_turns(std::span<const TakeSample> take_sample, const Method& method,
                                    const SamplingClock& clock);

}  // namespace sparkbench
