// Attention as a workload: a candidate on a problem, judged, then timed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/run/case_workload.h"

namespace sparkbench {

class AttentionWorkload : public CaseWorkload {
 public:
  AttentionWorkload(Device& device, RunSettings settings);

  bool computes(const CaseProblem& problem) const override { return !problem.layer; }
  const char* command() const override { return input_.own != nullptr ? "run" : "sweep"; }
  void start(const Candidate& candidate, CaseRecord& record) const override;
  std::optional<Reason> why_not_run(const CaseRecord& record) const override;
  CasePrediction predict(const PredictedCard& card, CaseRecord& record) const override;
  double host_flops(const CaseRecord& planned) const override;

  void run(const Candidate& candidate, bool is_verified, CaseRecord& record) override;
  void forget() override { problem_id_.clear(); }
  std::optional<PassOutputs> take_outputs() override {
    return std::exchange(outputs_, std::nullopt);
  }

 private:
  void prepare_problem(const CaseProblem& problem);
  bool inputs_overflow() const;
  RunOptions run_options(const CaseRecord& record) const;
  void measure(const Candidate& candidate, bool is_verified, CaseRecord& record);
  void verify(const Candidate& candidate, const RunOutcome& outcome, CaseRecord& record);
  void time(const Candidate& candidate, CaseRecord& record);
  void time_parts(const Candidate& candidate, CaseRecord& record);

  Device& device_;
  RunSettings settings_;
  InputSpec input_;
  std::string problem_id_;  // of data_
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<GradientData> gradients_;             // null for a forward pass
  std::optional<std::vector<Warning>> input_warnings_;  // none before they were looked for
  std::unique_ptr<LoadedProblem> loaded_;
  const Candidate* baseline_ = nullptr;  // of speed-ups: timed on this problem
  std::optional<PassOutputs> outputs_;
};

}  // namespace sparkbench
