// Compares two runs of the same cases: what is slower, wrong or missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/comparability.h"
#include "results/record/run_record.h"
#include "results/study/case_diff.h"
#include "results/study/prediction_check.h"

namespace sparkbench {

struct RunDiff {
  DiffRules rules;
  std::vector<Difference> differences;  // between the runs themselves
  std::vector<Difference> doubts;       // other differences or unknown values; only reported
  std::vector<CaseDiff> cases;          // in the order of the first run, then new cases
  bool is_first_complete = true, is_second_complete = true;
  std::vector<PredictionSummary> first_predictions, second_predictions;  // their errors
};

RunDiff diff_runs(const RunRecord& first, const RunRecord& second, const DiffRules& rules);

/// How many cases have that verdict.
std::size_t count_of(const std::vector<CaseDiff>& diffs, Verdict verdict);

/// Geometric means over the cases that have both: of times, and of cycles.
struct MeanRatios {
  std::optional<double> time, cycles;
};
MeanRatios mean_ratios(const std::vector<CaseDiff>& diffs);

/// What to do about a verdict: an imperative sentence without its full stop.
std::string next_step(Verdict verdict);

/// The case to begin with: for slow cases the slowest, otherwise the first; null if no case has the
/// verdict.
const CaseDiff* worst_of(const std::vector<CaseDiff>& diffs, Verdict verdict);

}  // namespace sparkbench
