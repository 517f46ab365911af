// Which kernel to use: the fastest that is correct on every problem it was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {

/// The speed-up over another kernel, as the geometric mean over problems.
struct Lead {
  std::string over;
  double likely = 1;
  /// Measured: three standard errors, from the samples' medians and from run to run. Predicted: the
  /// bands' limits. None if samples are unknown.
  std::optional<double> low, high;
};

/// Another kernel on the same problems.
struct Rival {
  Lead lead;  // of the fastest over this one
  Role role = Role::kFused;
  std::optional<Accumulator> accumulator;
  std::optional<double> error_ratio;  // its error over the fastest's, geometric means
};

/// Bytes of the kernel and of the unfused computation, on the problem where the latter takes the
/// most.
struct MemoryPair {
  std::uint64_t kernel = 0, unfused = 0;
};

struct FastestKernel {
  std::string why_none;  // why no kernel is named; empty if one is
  std::string kernel;
  Pass pass = Pass::kForward;
  ElementType element = ElementType::kFp16;
  TensorLayout layout = TensorLayout::kBshd;
  bool is_baseline = false;  // the fastest is the unfused computation
  bool is_measured = false;
  bool nothing_ran = false;           // no case ran: times are predicted, no result was checked
  std::string chip;                   // for a prediction
  int problems = 0;                   // shared by all compared kernels
  int all_problems = 0;               // on which any correct kernel was timed
  bool is_complete = true;            // the run is; otherwise kernels or problems may be missing
  std::vector<std::string> left_out;  // kernels on too few problems to be compared
  std::vector<Rival> rivals;          // the fastest first
  std::optional<Lead> over_base;      // over the baseline of the run's speed-ups
  std::optional<MemoryPair> memory;
  std::optional<double> worst_rel_l1;
  std::optional<double> error_over_unfused;   // geometric mean
  std::optional<LayerErrorMean> layer_error;  // for layers instead
};

/// One for each layout, element type and pass that has a case with a time or, if no correct case
/// has one, a prediction. A kernel is correct if none of its cases of that type and pass is
/// incorrect or failed. Unverified and only predicted cases do not count, unless no case of the run
/// was attempted. The result is the fastest correct kernel by the geometric mean over the problems
/// that all share. A kernel on less than half as many problems as another is not compared. No
/// kernel is named if nothing was verified, no problem is shared, or the run was stopped before two
/// kernels had a result.
std::vector<FastestKernel> find_fastest(const RunRecord& run);

}  // namespace sparkbench
