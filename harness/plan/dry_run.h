// --dry-run: the cases of a sweep, what memory they take, and about how long.
#pragma once

#include <vector>

#include "harness/plan/planned_sweep.h"
#include "harness/run/case_workload.h"
#include "harness/run/run_files.h"
#include "results/record/case_record.h"

namespace sparkbench {

class CaseCost {
 public:
  /// The workloads must outlive this. `measured`: cases of an earlier run; those with an elapsed
  /// time correct the estimates.
  CaseCost(const Device& device, const Workloads& workloads, const Method& method,
           const std::vector<CaseRecord>& measured);

  /// Seconds. On the host: generating inputs and checking (or emulating) the plan's sample at an
  /// assumed 1 GFLOP/s. On a GPU: a third of its peaks. Both are scaled by the measured cases' time
  /// over their estimates.
  double seconds(const CaseRecord& planned) const;

  bool is_corrected() const { return is_corrected_; }

 private:
  double rule(const CaseRecord& planned) const;
  double sampling_seconds(double launch) const;
  double launch_seconds(const CaseRecord& planned) const;

  const DeviceInfo& device_;
  const Workloads& workloads_;
  Method method_;
  double correction_ = 1;
  bool is_corrected_ = false;
};

/// Writes the cases to --json and writes no other file. Unless --json takes the standard output,
/// prints a line for each case of the shard that is still to do: its id, predicted memory, and
/// estimated time or why it is skipped; then the totals. With --resume the cases of that folder are
/// done, and their times correct the estimates.
void report_dry_run(const PlannedSweep& sweep, const SweepRequest& request, const Streams& streams);

}  // namespace sparkbench
