#include "results/study/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "results/record/comparability.h"
#include "results/render/number_format.h"
#include "results/render/text_table.h"
#include "results/store/stored_run.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr std::array kVerdicts = {Verdict::kSame,      Verdict::kFast,      Verdict::kSlow,
                                  Verdict::kAmbiguous, Verdict::kIncorrect, Verdict::kMissing,
                                  Verdict::kNew};

bool has_result(const CaseRecord& record) {
  return record.status == Status::kOk || record.status == Status::kIncorrect;
}

Verdict verdict_of(const Interval& ratio, double threshold) {
  const double least = 1 / (1 + threshold), most = 1 + threshold;
  if (ratio.high < least) return Verdict::kFast;
  if (ratio.low > most) return Verdict::kSlow;
  return ratio.low >= least && ratio.high <= most ? Verdict::kSame : Verdict::kAmbiguous;
}

void compare_times(const TimeMs& first, const TimeMs& second, double threshold, CaseDiff& diff) {
  const Interval a = median_interval(first.samples), b = median_interval(second.samples);
  diff.ratio = second.median / first.median;
  diff.ratio_interval = Interval{b.low / a.high, b.high / a.low};
  diff.verdict = verdict_of(*diff.ratio_interval, threshold);
}

CaseDiff diff_cases(const CaseRecord& first, const CaseRecord& second, double threshold) {
  CaseDiff diff{.id = first.id};
  if (first.time_ms) diff.first_ms = first.time_ms->median;
  if (second.time_ms) diff.second_ms = second.time_ms->median;
  if (second.status == Status::kIncorrect) {
    diff.verdict = Verdict::kIncorrect;
  } else if (has_result(first) != has_result(second)) {
    diff.verdict = has_result(first) ? Verdict::kMissing : Verdict::kNew;
  } else if (first.time_ms && second.time_ms) {
    compare_times(*first.time_ms, *second.time_ms, threshold, diff);
  } else if (first.time_ms || second.time_ms) {
    diff.verdict = Verdict::kAmbiguous;
  }
  return diff;
}

std::string or_dash(const std::optional<double>& value) {
  return value ? significant(*value, 4) : "-";
}

std::string text_of(const std::optional<Interval>& interval) {
  if (!interval) return "-";
  return fmt::format("{} .. {}", significant(interval->low, 4), significant(interval->high, 4));
}

std::string format_table(const std::vector<CaseDiff>& diffs, bool shows_all) {
  std::vector<TextColumn> columns = {{"case", {}, false}, {"first ms", {}},      {"second ms", {}},
                                     {"ratio", {}},       {"95 % interval", {}}, {"", {}, false}};
  for (const CaseDiff& diff : diffs) {
    if (!shows_all && diff.verdict == Verdict::kSame) continue;
    const std::array<std::string, 6> cells = {diff.id,
                                              or_dash(diff.first_ms),
                                              or_dash(diff.second_ms),
                                              or_dash(diff.ratio),
                                              text_of(diff.ratio_interval),
                                              std::string(name_of(diff.verdict))};
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  if (columns.front().cells.empty()) return "";
  return format_columns(columns, TableStyle::kTerminal) + "\n";
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kFast:
      return "fast";
    case Verdict::kSlow:
      return "slow";
    case Verdict::kAmbiguous:
      return "ambiguous";
    case Verdict::kIncorrect:
      return "incorrect";
    case Verdict::kMissing:
      return "missing";
    case Verdict::kNew:
      return "new";
  }
  return "";
}

std::vector<std::string> verdict_names() {
  std::vector<std::string> names;
  names.reserve(kVerdicts.size());
  for (const Verdict verdict : kVerdicts) names.emplace_back(name_of(verdict));
  return names;
}

Interval median_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const double count = static_cast<double>(samples.size());
  constexpr double kNormal95 = 1.96;
  const double rank = std::floor((count - kNormal95 * std::sqrt(count)) / 2);  // from 1
  const std::size_t skipped = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
  return {samples[skipped], samples[samples.size() - 1 - skipped]};
}

std::vector<CaseDiff> diff_runs(const RunRecord& first, const RunRecord& second, double threshold) {
  std::map<std::string, const CaseRecord*> seconds;
  for (const CaseRecord& record : second.cases) seconds.emplace(case_key(record), &record);
  std::vector<CaseDiff> diffs;
  for (const CaseRecord& record : first.cases) {
    const auto other = seconds.find(case_key(record));
    if (other == seconds.end()) {
      diffs.push_back({.id = record.id, .verdict = Verdict::kMissing});
    } else {
      diffs.push_back(diff_cases(record, *other->second, threshold));
      seconds.erase(other);
    }
  }
  for (const CaseRecord& record : second.cases) {
    if (!seconds.contains(case_key(record))) continue;
    const bool is_incorrect = record.status == Status::kIncorrect;
    diffs.push_back(
        {.id = record.id, .verdict = is_incorrect ? Verdict::kIncorrect : Verdict::kNew});
  }
  return diffs;
}

std::optional<double> mean_ratio(const std::vector<CaseDiff>& diffs) {
  std::vector<double> ratios;
  for (const CaseDiff& diff : diffs) {
    if (diff.ratio) ratios.push_back(*diff.ratio);
  }
  return geometric_mean(ratios);
}

std::string format_diff(const RunRecord& first, const RunRecord& second,
                        const std::vector<CaseDiff>& diffs, bool shows_all) {
  std::string text;
  for (const Difference& each : find_differences(first, second)) {
    text += fmt::format("{} is {} and {}\n", each.field, each.first, each.second);
  }
  if (!text.empty()) text += '\n';
  text += format_table(diffs, shows_all);
  std::vector<std::string> counts;
  for (const Verdict verdict : kVerdicts) {
    const auto count = std::count_if(diffs.begin(), diffs.end(),
                                     [&](const CaseDiff& diff) { return diff.verdict == verdict; });
    if (count > 0) counts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  }
  text += counts.empty() ? "no cases" : fmt::format("{}", fmt::join(counts, ", "));
  if (const auto ratio = mean_ratio(diffs)) {
    text += fmt::format("; the second run takes {} times as long (geometric mean)",
                        significant(*ratio, 4));
  }
  return text + ".\n";
}

}  // namespace sparkbench
