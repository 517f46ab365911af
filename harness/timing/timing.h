// How a candidate is timed on a GPU, and what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sparkbench {

/// How samples are taken on a GPU.
struct TimingOptions {
  bool is_wanted = true;
  bool flushes_l2 = true;    // --cache cold
  bool holds_stream = true;  // until all of a sample is queued, so that launching is not timed
  double warmup_ms = 25.0;   // of running the kernel before the first sample
  int min_samples = 20;
  double min_seconds = 0.3;  // of sampling: the card's power governor takes that long to settle
  int max_samples = 1000;
  double max_noise = 0.005;   // relative standard error of the median at which sampling may stop
  double max_seconds = 10.0;  // of sampling one case
  int block_samples = 10;     // of one candidate in a row, when several take turns
  int min_blocks = 5;         // of one candidate: the clock may differ from block to block
  double duty_cycle = 0.5;    // part of the time that the GPU is busy; it rests after each sample
};

/// One measurement of one candidate.
struct TimedSample {
  double ms;
  std::optional<double> clock_mhz;  // of the SMs; none when too short to tell
};

struct Timing {
  std::vector<double> samples_ms;
  std::vector<std::optional<double>> clocks_mhz;  // of each sample
  std::string stop_reason;                        // "noise", "time" or "samples" (stop_rule.h)
  bool is_held = true;                            // launching was kept out of every sample
  std::optional<double> least_ms;                 // what a kernel that does nothing takes, so timed
  int block_samples = 1;                          // that were taken in a row
};

}  // namespace sparkbench
