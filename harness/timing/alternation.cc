#include "harness/timing/alternation.h"

#include "harness/timing/stop_rule.h"

namespace sparkbench {
namespace {

void take_block(const TakeSample& take_sample, const Method& method, const SamplingClock& clock,
                Timing& timing) {
  for (int i = 0; i < *method.block_samples; ++i) {
    const double begin = clock.seconds();
    if (!timing.samples_ms.empty() && begin >= *method.max_seconds) return;
    const TimedSample sample = take_sample();
    timing.samples_ms.push_back(sample.ms);
    timing.clocks_mhz.push_back(sample.clock_mhz);
    const double busy = clock.seconds() - begin;
    clock.rest_for(busy / *method.duty_cycle - busy);
  }
}

/// Whether all may stop; stores the reason of each.
bool may_stop(std::vector<Timing>& timings, double seconds, const Method& method) {
  bool may_all = true;
  for (Timing& timing : timings) {
    const auto reason = why_stop(timing.samples_ms, seconds, method);
    timing.stop_reason = reason.value_or("");
    may_all = may_all && reason.has_value();
  }
  return may_all;
}

}  // namespace

std::vector<Timing> sample_in_turns(std::span<const TakeSample> take_sample, const Method& method,
                                    const SamplingClock& clock) {
  Timing none;
  none.block_samples = *method.block_samples;
  std::vector<Timing> timings(take_sample.size(), none);
  do {
    for (std::size_t i = 0; i < timings.size(); ++i) {
      take_block(take_sample[i], method, clock, timings[i]);
    }
  } while (!may_stop(timings, clock.seconds(), method));
  return timings;
}

}  // namespace sparkbench
