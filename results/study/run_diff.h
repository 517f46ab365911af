// Two runs of the same cases: what is faster, slower, wrong or gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

enum class Verdict {
  kSame,       // the times differ by no more than the threshold; or there are none to compare
  kFast,       // the second run's is shorter, beyond the threshold and the doubt
  kSlow,       // it is longer
  kAmbiguous,  // the doubt is too large to tell, or only one run has a time
  kIncorrect,  // the second run's result is
  kMissing,    // the second run has no result: no such case, or skipped or failed there alone
  kNew,        // the first run has none
};

/// "same", "fast", "slow", "ambiguous", "incorrect", "missing", "new"
std::string_view name_of(Verdict verdict);
std::vector<std::string> verdict_names();

struct Interval {
  double low = 0, high = 0;
};

/// The median is in it with at least 95 % confidence: the samples of ranks n / 2 -+ 1.96 sqrt(n) /
/// 2, rounded outwards (Conover, Practical Nonparametric Statistics, 3.2); of few samples all.
/// There must be one.
Interval median_interval(std::vector<double> samples);

struct CaseDiff {
  std::string id;
  Verdict verdict = Verdict::kSame;
  std::optional<double> first_ms, second_ms;  // medians
  std::optional<double> ratio;                // the second's over the first's
  std::optional<Interval> ratio_interval;     // that both medians' intervals allow
};

/// In the order of the first run, then what is new. `threshold` is the relative difference of two
/// medians from run to run that means nothing; an interval that is wholly beyond it is fast or
/// slow, one that is wholly within it is the same.
std::vector<CaseDiff> diff_runs(const RunRecord& first, const RunRecord& second, double threshold);

/// The geometric mean of the ratios; none when there is none.
std::optional<double> mean_ratio(const std::vector<CaseDiff>& diffs);

/// What differs between the runs themselves, a line each; a table of the cases that are not the
/// same, or of all; and how many there are of each verdict.
std::string format_diff(const RunRecord& first, const RunRecord& second,
                        const std::vector<CaseDiff>& diffs, bool shows_all);

}  // namespace sparkbench
