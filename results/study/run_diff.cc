#include "results/study/run_diff.h"

#include <algorithm>
#include <map>

#include "results/store/stored_run.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

double slowness_of(const CaseDiff& diff) { return diff.time ? diff.time->value : 0; }

std::vector<CaseDiff> diff_cases(const RunRecord& first, const RunRecord& second,
                                 const DiffRules& rules) {
  std::map<std::string, const CaseRecord*> seconds;
  for (const CaseRecord& record : second.cases) seconds.emplace(case_key(record), &record);
  const auto side_of = [](const RunRecord& run, const CaseRecord* record) {
    return CaseSide{record, run.method.block_samples};
  };
  std::vector<CaseDiff> diffs;
  for (const CaseRecord& record : first.cases) {
    const auto found = seconds.find(case_key(record));
    const CaseRecord* const other = found == seconds.end() ? nullptr : found->second;
    diffs.push_back(diff_case(side_of(first, &record), side_of(second, other), rules));
    if (other != nullptr) seconds.erase(found);
  }
  for (const CaseRecord& record : second.cases) {
    if (!seconds.contains(case_key(record))) continue;
    diffs.push_back(diff_case(side_of(first, nullptr), side_of(second, &record), rules));
  }
  return diffs;
}

}  // namespace

RunDiff diff_runs(const RunRecord& first, const RunRecord& second, const DiffRules& rules) {
  return {rules,
          find_differences(first, second),
          find_doubts(first, second),
          diff_cases(first, second, rules),
          first.run.complete,
          second.run.complete,
          summarize_predictions(first.cases),
          summarize_predictions(second.cases)};
}

std::size_t count_of(const std::vector<CaseDiff>& diffs, Verdict verdict) {
  return static_cast<std::size_t>(std::count_if(
      diffs.begin(), diffs.end(), [verdict](const CaseDiff& diff) { return diff.has(verdict); }));
}

MeanRatios mean_ratios(const std::vector<CaseDiff>& diffs) {
  std::vector<double> times, cycles;
  for (const CaseDiff& diff : diffs) {
    if (diff.time) times.push_back(diff.time->value);
    if (diff.time && diff.cycles) cycles.push_back(diff.cycles->value);
  }
  return {geometric_mean(times),
          cycles.size() == times.size() ? geometric_mean(cycles) : std::nullopt};
}

std::string next_step(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFailed:
      return "run it alone and read what it ended with";
    case Verdict::kIncorrect:
      return "do not use this kernel; run it alone, `sparkbench run` tells where it is wrong";
    case Verdict::kMissing:
      return "finish the second run (sparkbench sweep --resume DIR), or give it the cases of the "
             "first";
    case Verdict::kWorse:
      return "run it alone on both builds; look at what changed its sums (libraries, accumulators)";
    case Verdict::kMemory:
      return "compare the workspaces that both builds ask for, with `sparkbench run`";
    case Verdict::kSlow:
      return "run it again on both builds and one card; if it stays, profile it (sparkbench run "
             "--profile)";
    case Verdict::kClock:
      return "lock the clock (nvidia-smi -lgc) or let the card cool, and measure both again";
    case Verdict::kAmbiguous:
      return "measure both longer (--min-samples 200 --max-noise 0.001) on an idle card; where no "
             "clock is read, lock it and take --time-only";
    case Verdict::kBits:
      return "look for what changed (build, libraries); of one build the same bits are due";
    case Verdict::kNew:
      return "keep the second run as the next first one";
    case Verdict::kFast:
      return "keep the second run as the next first one, once it is seen to repeat";
    case Verdict::kSame:
      return "nothing";
  }
  return "";
}

const CaseDiff* worst_of(const std::vector<CaseDiff>& diffs, Verdict verdict) {
  const CaseDiff* worst = nullptr;
  for (const CaseDiff& diff : diffs) {
    if (!diff.has(verdict)) continue;
    if (worst == nullptr || slowness_of(diff) > slowness_of(*worst)) worst = &diff;
  }
  return worst;
}

}  // namespace sparkbench
