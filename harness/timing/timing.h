// The result of timing a candidate on a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sparkbench {

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
  std::optional<int> checked;  // samples whose outputs were compared with the verified ones
  int wrong = 0;               // of these, how many differed
  std::string first_wrong;     // the first mismatch: "3 elements of dq"
};

}  // namespace sparkbench
