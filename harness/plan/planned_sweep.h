// Turns options into the cases of a sweep, on one device that this process opens.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/options/sweep_options.h"
#include "harness/plugin/kernel_library.h"
#include "harness/run/case_runner.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// The request of a measuring command.
struct SweepRequest {
  SweepOptions options;
  bool is_timed = true;
  std::vector<std::string> argv;
  CaseHook before_case;                  // for tests; may be empty
  bool times_parts = false;              // of references, one by one
  const Predictor* predictor = nullptr;  // RunSettings::predictor
  LoadKernels load_kernels = load_kernel_library;
};

class PlannedSweep {
 public:
  /// Opens the device, reads --tensors, loads the libraries of --kernel and expands the grid.
  /// Throws UsageError and EnvironmentError.
  PlannedSweep(const SweepRequest& request, const std::string& device_name);

  /// Build, environment, method, resolved options; and every case's record before it runs
  /// (CaseRunner::begin), with its position.
  const RunRecord& plan() const { return plan_; }

  /// Runs the case at this position of the plan.
  CaseRecord run(std::size_t position) { return runner_->finish(plan_.cases.at(position)); }

  /// The last case's outputs, if they are to be saved and it finished.
  std::optional<PassOutputs> take_outputs() { return runner_->take_outputs(); }

  const Device& device() const { return *device_; }
  const Workloads& workloads() const { return runner_->workloads(); }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<CaseRunner> runner_;
  RunRecord plan_;
};

/// Positions in `cases` of the shard, or all if `shard` is empty. Problems are dealt out in turn,
/// each with all its cases, because these share inputs, the exact result and the baseline. Throws
/// UsageError unless `shard` is I/N with 1 <= I <= N.
std::vector<std::size_t> positions_of_shard(const std::vector<CaseRecord>& cases,
                                            const std::string& shard);

}  // namespace sparkbench
