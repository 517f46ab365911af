// How a candidate is timed on a GPU, and the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sparkbench {

/// How samples are taken on a GPU.
struct TimingOptions {
  bool is_wanted = true;
  bool flushes_l2 = true;    // --cache cold
  bool holds_stream = true;  // until a whole sample is queued, so that launches are not timed
  double warmup_ms = 25.0;   // of running the kernel before the first sample
  int min_samples = 20;
  double min_seconds = 0.3;  // of sampling: the card's power governor takes that long to settle
  int max_samples = 1000;
  double max_noise = 0.005;   // relative standard error of the median at which sampling may stop
  double max_seconds = 10.0;  // of sampling one case
  int block_samples = 10;     // of one candidate in a row, if several alternate
  int min_blocks = 5;         // per candidate: the clock may differ between blocks
  double duty_cycle = 0.5;    // largest share of time that the GPU is busy
};

/// One measurement of one candidate.
struct TimedSample {
  double ms;
  std::optional<double> clock_mhz;  // of the SMs; none if the sample is too short
};

struct Timing {
  std::vector<double> samples_ms;
  std::vector<std::optional<double>> clocks_mhz;  // per sample
  std::string stop_reason;                        // "noise", "time" or "samples" (stop_rule.h)
  bool is_held = true;                            // no sample includes the time to launch
  std::optional<double> least_ms;                 // the time of an empty kernel, by the same method
  int block_samples = 1;                          // samples in a row
};

}  // namespace sparkbench
