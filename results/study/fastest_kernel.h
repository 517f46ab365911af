// Which kernel to use: the fastest that is correct on every problem it was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {

/// How many times as fast as another kernel, as the geometric mean over problems.
struct Lead {
  std::string over;
  double likely = 1;
  /// Measured: three standard errors, of the samples' medians and from run to run. Predicted: what
  /// the bands leave. None where samples are not known.
  std::optional<double> low, high;
};

/// Another kernel on the same problems.
struct Rival {
  Lead lead;  // of the fastest over this one
  Role role = Role::kFused;
  std::optional<Accumulator> accumulator;
  std::optional<double> error_ratio;  // its error over the fastest's, geometric means
};

/// Bytes of the kernel and of the unfused computation, on the problem where that takes most.
struct MemoryPair {
  std::uint64_t kernel = 0, unfused = 0;
};

struct FastestKernel {
  std::string why_none;  // no kernel is named, and why; empty where one is
  std::string kernel;
  Pass pass = Pass::kForward;
  bool is_baseline = false;  // the fastest is the unfused computation
  bool is_measured = false;
  bool nothing_ran = false;           // no case did: times are predicted, no result was checked
  std::string chip;                   // of a prediction
  int problems = 0;                   // that all compared kernels share
  int all_problems = 0;               // that any correct kernel was timed on
  bool is_complete = true;            // the run is: if not, kernels or problems may be missing
  std::vector<std::string> left_out;  // kernels on too few problems to be compared
  std::vector<Rival> rivals;          // the faster first
  std::optional<Lead> over_base;      // what the run's speed-ups are over
  std::optional<MemoryPair> memory;
  std::optional<double> worst_rel_l1;
  std::optional<double> error_over_unfused;   // geometric mean
  std::optional<LayerErrorMean> layer_error;  // of layers instead
};

/// One for each pass that has a case with a time, or where no correct case has one, a prediction.
/// Correct is a kernel of whose cases of that pass none is incorrect or failed; its cases that were
/// not verified, or are only predicted, do not count, unless no case of the run was attempted. Of
/// these it is the fastest by the geometric mean over the problems that they share. A kernel on
/// less than half as many problems as another is not compared. None is named where nothing was
/// verified, no problem is shared, or the run was stopped before two kernels had a result.
std::vector<FastestKernel> find_fastest(const RunRecord& run);

}  // namespace sparkbench
