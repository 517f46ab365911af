#include "harness/timing/timing_record.h"

#include <fmt/format.h>

#include "harness/timing/clock_readings.h"
#include "harness/timing/impossible_numbers.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

void warn_of_sampling(CaseRecord& record) {
  const Sampling& sampling = *record.sampling;
  if (sampling.stop_reason != "noise") {
    record.warnings.push_back(
        {"W-NOISY",
         fmt::format("sampling ended by its limit of {} before the median had settled; its "
                     "relative error is the value",
                     sampling.stop_reason),
         sampling.median_error});
  }
  if (!sampling.held) {
    record.warnings.push_back({"W-NOT-HELD",
                               "the stream could not be held until the launches were queued: the "
                               "time may include launching",
                               std::nullopt});
  }
}

void warn_of_clocks(CaseRecord& record) {
  if (!record.clock_mhz) {
    record.warnings.push_back({"W-CLOCK-UNKNOWN",
                               "the samples are too short for the GPU's timer to tell the SM clock",
                               std::nullopt});
  }
  const Sampling& sampling = *record.sampling;
  if (sampling.flagged == 0) return;
  record.warnings.push_back(
      {"W-THROTTLED",
       fmt::format("the SMs ran below {:.0f} % of their highest clock in the part of the samples "
                   "that is the value",
                   100 * kThrottledBelow),
       static_cast<double>(sampling.flagged) / sampling.count});
}

/// A kernel that left other outputs while it was timed was timed doing something else.
void judge_timed_outputs(const Timing& timing, CaseRecord& record) {
  if (timing.wrong == 0) return;
  record.status = Status::kIncorrect;
  record.reason =
      Reason{"E-TIMED-OUTPUT",
             fmt::format("{} of {} timed launches left other results than the launch that was "
                         "verified; in the first of them {} differ",
                         timing.wrong, *timing.checked, timing.first_wrong)};
}

void record_rates(const DeviceInfo& device, CaseRecord& record) {
  const double seconds = record.time_ms->median * 1e-3;
  record.gbps = static_cast<double>(record.bytes) / seconds * 1e-9;
  if (device.peak_gbps) record.bandwidth_fraction = *record.gbps / *device.peak_gbps;
  if (record.status == Status::kIncorrect) return;
  record.tflops = static_cast<double>(record.flops) / seconds * 1e-12;
  if (device.peak_tflops) record.peak_fraction = *record.tflops / *device.peak_tflops;
}

}  // namespace

void record_timing(const Timing& timing, const DeviceInfo& device, CaseRecord& record) {
  record.time_ms = summarize_samples(timing.samples_ms);
  record.noise = relative_deviation(timing.samples_ms);
  record.clock_mhz = summarize_clocks(timing.clocks_mhz);
  record.sampling = Sampling{
      static_cast<int>(timing.samples_ms.size()),
      timing.stop_reason,
      relative_median_error_of_blocks(timing.samples_ms, timing.block_samples),
      device.sm_clock_max_mhz ? count_throttled(timing.clocks_mhz, *device.sm_clock_max_mhz) : 0,
      timing.is_held,
      timing.checked};
  judge_timed_outputs(timing, record);
  warn_of_sampling(record);
  warn_of_clocks(record);
  if (record.valid) flag_impossible(device, timing.least_ms, record);
  if (record.valid) record_rates(device, record);
}

}  // namespace sparkbench
