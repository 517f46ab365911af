// Runs one case, a candidate on a problem, and verifies it: from a SweepCase to a CaseRecord.
#pragma once

#include <optional>
#include <utility>

#include "harness/run/case_workload.h"
#include "sweeps/grid.h"

namespace sparkbench {

class CaseRunner {
 public:
  CaseRunner(Device& device, RunSettings settings);

  /// The record of a case before it runs: id, work, memory, prediction and warnings, and the line
  /// that repeats it; skipped, with the reason, if it will not run.
  CaseRecord begin(const SweepCase& sweep_case) const;

  /// Runs a case whose record begin() made. Never throws for a case's failure: that becomes its
  /// status and reason. Cases of one problem should be adjacent, with the references first: they
  /// share the problem's inputs and oracle, and a kernel's samples alternate with the reference
  /// that was timed before it. Only verified cases are timed.
  CaseRecord finish(CaseRecord record);

  CaseRecord run(const SweepCase& sweep_case) { return finish(begin(sweep_case)); }

  const Workloads& workloads() const { return workloads_; }

  /// The last case's outputs, if the settings keep them and it finished. Moves them out.
  std::optional<PassOutputs> take_outputs() { return std::exchange(outputs_, std::nullopt); }

 private:
  /// Verifies the record's case by the same case without dropout, if the candidate draws a dropout
  /// mask of its own. Throws what goes wrong.
  void run(CaseRecord& record);
  void judge_without_dropout(CaseRecord& record);
  void fail(Reason reason, CaseRecord& record);

  Device& device_;
  RunSettings settings_;
  Workloads workloads_;
  std::optional<PassOutputs> outputs_;
};

}  // namespace sparkbench
