// Runs one case, a candidate on a problem, and verifies it: from a SweepCase to a CaseRecord.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/encoder/gpu_layer_runner.h"
#include "harness/encoder/layer_runner.h"
#include "harness/plan/run_settings.h"
#include "sweeps/grid.h"

namespace sparkbench {

class CaseRunner {
 public:
  CaseRunner(Device& device, RunSettings settings);

  /// The record of a case before it runs: everything known in advance; skipped, with the reason, if
  /// it will not run.
  CaseRecord begin(const SweepCase& sweep_case) const;

  /// Runs a case whose record begin() made. Never throws for a case's failure: that becomes its
  /// status and reason. Cases of one problem should be adjacent, with the references first: they
  /// share the problem's inputs and oracle, and a kernel's samples alternate with the reference
  /// that was timed before it. Only verified cases are timed.
  CaseRecord finish(CaseRecord record);

  CaseRecord run(const SweepCase& sweep_case) { return finish(begin(sweep_case)); }

  /// The last case's outputs, if the settings keep them and it finished. Moves them out.
  std::optional<PassOutputs> take_outputs() { return std::exchange(outputs_, std::nullopt); }

 private:
  const Candidate& find_candidate(const std::string& name) const;
  void run_attention(const Candidate& candidate, CaseRecord& record);
  void run_layer(const Candidate& candidate, CaseRecord& record);
  void fail(Reason reason, CaseRecord& record);
  void prepare_problem(const CaseProblem& problem);
  bool inputs_overflow() const;
  RunOptions run_options(const CaseRecord& record) const;
  void measure(const Candidate& candidate, CaseRecord& record);
  bool is_judged_without_dropout(const Candidate& candidate, const Problem& problem) const;
  /// Verifies the same case without dropout; does not time it.
  void judge_without_dropout(CaseRecord& record);
  void verify(const Candidate& candidate, const RunOutcome& outcome, CaseRecord& record);
  void time(const Candidate& candidate, CaseRecord& record);
  void time_parts(const Candidate& candidate, CaseRecord& record);

  Device& device_;
  RunSettings settings_;
  std::string problem_id_;  // of data_
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<GradientData> gradients_;             // null for a forward pass
  std::optional<std::vector<Warning>> input_warnings_;  // none before the first check
  std::unique_ptr<LoadedProblem> loaded_;
  const Candidate* baseline_ = nullptr;  // of speed-ups: timed on this problem
  std::optional<PassOutputs> outputs_;
  LayerRunner emulated_layers_;
  GpuLayerRunner gpu_layers_;
};

}  // namespace sparkbench
