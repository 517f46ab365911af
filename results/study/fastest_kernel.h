// Which kernel to use: the fastest that is correct on every problem it was given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// How many times as fast as another kernel, as the geometric mean over problems.
struct Lead {
  std::string over;
  double likely = 1;
  /// Measured: three standard errors, of the samples' medians and from run to run. Predicted: what
  /// the bands leave. None where samples are not known.
  std::optional<double> low, high;
};

struct FastestKernel {
  std::string why_none;  // no kernel is named, and why; empty where one is
  std::string kernel;
  Pass pass = Pass::kForward;
  bool is_measured = false;
  std::string chip;                   // of a prediction
  int problems = 0;                   // that all compared kernels share
  int all_problems = 0;               // that any correct kernel was timed on
  bool is_complete = true;            // the run is: if not, kernels or problems may be missing
  std::vector<std::string> left_out;  // kernels on too few problems to be compared
  std::optional<Lead> over_next;      // the second
  std::optional<Lead> over_base;      // what the run's speed-ups are over, unless that is the next
  bool has_all_rows = true;           // of all its cases that were checked
  std::optional<double> worst_rel_l1;
  std::optional<double> error_over_unfused;  // geometric mean
  /// Of layers instead: the largest of all parts of all cases, and beside the unfused fp16 layer.
  std::optional<double> worst_layer_rel_l2, worst_layer_over_unfused;
};

/// One for each pass that has a case with a time, or where no correct case has one, a prediction.
/// Correct is a kernel of whose cases of that pass none is incorrect or failed; its cases that were
/// not verified, or are only predicted, do not count. Of these it is the fastest by the geometric
/// mean over the problems that they share. A kernel on less than half as many problems as another
/// is not compared. None is named where nothing was verified, no problem is shared, or the run was
/// stopped before two kernels had a result.
std::vector<FastestKernel> find_fastest(const RunRecord& run);

}  // namespace sparkbench
