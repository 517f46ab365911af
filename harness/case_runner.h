// Runs one case, a contender on a problem, and judges it: from a SweepCase to a CaseRecord.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/device.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// What is the same for every case of a run.
struct RunSettings {
  InputSpec input;
  TimingOptions timing;
  bool is_deterministic = false;  // of the backward pass
  bool is_verified = true;
  Tolerance tolerance;
  Method method;  // as it is recorded
};

class CaseRunner {
 public:
  CaseRunner(Device& device, RunSettings settings);

  /// Never throws for what a case does: that becomes its status and reason. Cases of one problem
  /// should follow each other, the references first: they share the problem's inputs and oracle,
  /// and the speedup is over the reference that was timed last on the same problem.
  CaseRecord run(const SweepCase& sweep_case);

 private:
  const Contender& find_contender(const std::string& name) const;
  CaseRecord begin_record(const SweepCase& sweep_case, const Contender& contender) const;
  std::optional<Reason> why_skipped(const Contender& contender, const CaseRecord& record) const;
  void prepare_problem(const SweepCase& sweep_case);
  void measure(const Contender& contender, CaseRecord& record);
  void verify(const Contender& contender, const RunOutcome& outcome, CaseRecord& record);
  std::string judge_forward(const Contender& contender, const RunOutcome& outcome,
                            CaseRecord& record);
  std::string judge_backward(const Contender& contender, const RunOutcome& outcome,
                             CaseRecord& record);
  void add_speedup(CaseRecord& record);

  Device& device_;
  RunSettings settings_;
  std::string problem_id_;  // of data_
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<GradientData> gradients_;  // null for a forward pass
  std::unique_ptr<LoadedProblem> loaded_;
  std::optional<CaseRecord> timed_reference_;  // on the same problem
};

}  // namespace sparkbench
