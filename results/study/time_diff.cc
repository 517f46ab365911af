#include "results/study/case_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/render/number_format.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

/// For an unchanged pair one ratio in about 400 exceeds it by chance, and both ratios must.
constexpr double kStandardErrors = 3;
constexpr double kLargestDoubt = 2;  // in thresholds
/// Variation between runs, which one run's samples do not show. The 960 pairs behind kDiffThreshold
/// differ by 0.25 % (root mean square), their samples' error included.
constexpr double kRunToRun = 0.003;

bool has_times(const CaseRecord& record) {
  return record.valid && record.time_ms && !record.time_ms->samples.empty() &&
         median_of(record.time_ms->samples) > 0;
}

/// For the samples with a known clock; empty if no clock was read.
std::vector<double> cycles_of(const CaseRecord& record) {
  std::vector<double> cycles;
  if (!record.clock_mhz) return cycles;
  const auto& times = record.time_ms->samples;
  const auto& clocks = record.clock_mhz->samples;
  for (std::size_t i = 0; i < std::min(times.size(), clocks.size()); ++i) {
    if (clocks[i] && *clocks[i] > 0) cycles.push_back(times[i] * *clocks[i]);
  }
  return cycles;
}

double error_of(const std::vector<double>& samples, const std::optional<int>& block_samples) {
  if (!block_samples || *block_samples < 1) return relative_median_error(samples);
  return relative_median_error_of_blocks(samples, *block_samples);
}

MedianRatio ratio_of(const std::vector<double>& first, const CaseSide& first_side,
                     const std::vector<double>& second, const CaseSide& second_side) {
  return {median_of(second) / median_of(first),
          kStandardErrors * std::hypot(error_of(first, first_side.block_samples),
                                       error_of(second, second_side.block_samples), kRunToRun)};
}

enum class Change { kNone, kLonger, kShorter };

Change change_beyond(double bound, const MedianRatio& ratio) {
  if (ratio.value > 1 + bound) return Change::kLonger;
  return 1 / ratio.value > 1 + bound ? Change::kShorter : Change::kNone;
}

std::string too_doubtful(double doubt) {
  return fmt::format("the doubt is {} %", significant(100 * doubt, 2));
}

CaseFinding judge_one(const MedianRatio& ratio, const DiffRules& rules) {
  const Change seen = change_beyond(rules.threshold, ratio);
  const Change sure = change_beyond(std::max(rules.threshold, ratio.doubt), ratio);
  if (sure == Change::kLonger) return {Verdict::kSlow, ""};
  if (sure == Change::kShorter) return {Verdict::kFast, ""};
  if (seen == Change::kNone && ratio.doubt <= kLargestDoubt * rules.threshold) return {};
  return {Verdict::kAmbiguous, too_doubtful(ratio.doubt)};
}

CaseFinding judge_both(const CaseFinding& time, const CaseFinding& cycles) {
  if (time.verdict == cycles.verdict) return time;
  for (const CaseFinding& each : {time, cycles}) {
    if (each.verdict == Verdict::kAmbiguous) return each;
  }
  const bool is_slower = time.verdict == Verdict::kSlow;
  if (time.verdict == Verdict::kSame) return {Verdict::kClock, "cycles alone differ"};
  return {Verdict::kClock, is_slower ? "a lower clock" : "a higher clock"};
}

std::string which_lacks(const char* what, bool has_first, bool has_second) {
  if (!has_first && !has_second) return fmt::format("no {} in either run", what);
  return fmt::format("no {} in the {} run", what, has_first ? "second" : "first");
}

}  // namespace

CaseFinding compare_times(const CaseSide& first, const CaseSide& second, const DiffRules& rules,
                          CaseDiff& diff) {
  const bool has_first = has_times(*first.record), has_second = has_times(*second.record);
  if (!has_first && !has_second) return {};
  if (!has_first || !has_second) {
    return {Verdict::kAmbiguous, which_lacks("valid time", has_first, has_second)};
  }
  diff.time =
      ratio_of(first.record->time_ms->samples, first, second.record->time_ms->samples, second);
  const std::vector<double> a = cycles_of(*first.record), b = cycles_of(*second.record);
  if (!a.empty() && !b.empty()) diff.cycles = ratio_of(a, first, b, second);
  CaseFinding by_time = judge_one(*diff.time, rules);
  if (rules.by_time_alone) return by_time;
  if (diff.cycles) return judge_both(by_time, judge_one(*diff.cycles, rules));
  if (by_time.verdict == Verdict::kSame) return by_time;
  return {Verdict::kAmbiguous, which_lacks("clock reading", !a.empty(), !b.empty())};
}

}  // namespace sparkbench
