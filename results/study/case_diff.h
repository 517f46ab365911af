// One case in two runs: slower, wrong, gone, larger, or the same.
//
// A median off by more than its doubt may still be the card's clock. A kernel bound by the SMs
// takes as many cycles at any clock, one bound by memory as much time. So a case is slow only when
// both its time and its cycles (time x SM clock, sample by sample) have grown: a clock moves the
// two in opposite directions, or one of them alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// The worst first. Of kSlow to kSame a case has one, of the others as many as there are.
enum class Verdict {
  kFailed,     // the second run's did not run to its end
  kIncorrect,  // the second run's result is
  kMissing,    // the second run has no such case, or skipped it, and the first has a result; or
               // the first's was verified, and the second's was not
  kWorse,      // the error has grown
  kMemory,     // it takes more
  kSlow,       // time and cycles are longer, beyond the threshold and the doubt
  kClock,      // only one of the two is: the clock was another
  kAmbiguous,  // the doubt is too large to tell, or there is no clock or no time in one run
  kBits,       // the output has other bits
  kNew,        // the first run has no result
  kFast,       // time and cycles are shorter
  kSame,       // none of all this
};

/// "failed", "incorrect", "missing", "worse", "memory", "slow", ...
std::string_view name_of(Verdict verdict);

/// In the order of Verdict.
std::vector<Verdict> all_verdicts();

/// Somewhat above 1.14 %, the largest difference of 960 pairs of medians of unchanged kernels on
/// H200s (results/published/h200/repeatability.csv).
inline constexpr double kDiffThreshold = 0.013;

struct DiffRules {
  double threshold = kDiffThreshold;  // relative difference that means nothing
  bool by_time_alone = false;         // the clocks are known to be locked, or were not read
};

/// Of two medians, the second's over the first's. `doubt` is relative: three standard errors of the
/// ratio, of samples or their blocks and from run to run.
struct MedianRatio {
  double value = 1, doubt = 0;
};

struct CaseFinding {
  Verdict verdict = Verdict::kSame;
  std::string why;  // "" when the ratios say it
};

struct CaseDiff {
  std::string id;
  std::vector<CaseFinding> findings;          // the worst first; at least one
  std::optional<double> first_ms, second_ms;  // medians
  std::optional<MedianRatio> time, cycles;
  std::optional<double> error_ratio;   // rel_l2, of the output where it has grown most
  std::optional<double> memory_ratio;  // measured peak, or workspace where that is not known
  std::optional<bool> has_same_bits;   // none unless both outputs were hashed and are repeatable
  std::string repro;                   // a shell line that repeats it

  bool has(Verdict verdict) const;
};

/// What a run has of the case; `block_samples` is its method's.
struct CaseSide {
  const CaseRecord* record = nullptr;  // null: there is no such case
  std::optional<int> block_samples;
};

/// One of the two must have the case.
CaseDiff diff_case(const CaseSide& first, const CaseSide& second, const DiffRules& rules);

}  // namespace sparkbench
