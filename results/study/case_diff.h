// Compares one case in two runs: slower, wrong, missing, larger, or the same.
//
// A median may differ by more than its uncertainty because of the card's clock. A kernel bound by
// the SMs takes as many cycles at any clock, and one bound by memory as much time. So a case is
// slow only if both its time and its cycles (time x SM clock, sample by sample) have grown: a clock
// change moves the two in opposite directions, or moves only one of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// The worst first. A case has exactly one of kSlow to kSame, and any number of the others.
enum class Verdict {
  kFailed,     // the second run's case did not finish
  kIncorrect,  // the second run's result is incorrect
  kMissing,    // the second run lacks or skipped the case, and the first has a result; or only the
               // first's was verified
  kWorse,      // the error has grown
  kMemory,     // it takes more memory
  kSlow,       // time and cycles have grown, by more than the threshold and the uncertainty
  kClock,      // only one of the two has grown: the clock differs
  kAmbiguous,  // the uncertainty is too large, or a run has no clock or no time
  kBits,       // the output has other bits
  kNew,        // the first run has no result
  kFast,       // time and cycles are shorter
  kSame,       // none of the above
};

/// "failed", "incorrect", "missing", "worse", "memory", "slow", ...
std::string_view name_of(Verdict verdict);

/// In the order of Verdict.
std::vector<Verdict> all_verdicts();

/// Slightly above 1.14 %, the largest difference in 960 pairs of medians of unchanged kernels on
/// H200s (results/published/h200/repeatability.csv).
inline constexpr double kDiffThreshold = 0.013;

struct DiffRules {
  double threshold = kDiffThreshold;  // relative difference that is ignored
  bool by_time_alone = false;         // the clocks are locked, or were not read
};

/// Ratio of two medians, the second's over the first's. `doubt` is relative: three standard errors
/// of the ratio, from the samples or their blocks and from run to run.
struct MedianRatio {
  double value = 1, doubt = 0;
};

struct CaseFinding {
  Verdict verdict = Verdict::kSame;
  std::string why;  // "" if the ratios explain it
};

struct CaseDiff {
  std::string id;
  std::vector<CaseFinding> findings;          // the worst first; at least one
  std::optional<double> first_ms, second_ms;  // medians
  std::optional<MedianRatio> time, cycles;
  std::optional<double> error_ratio;   // rel_l2, for the output where it has grown most
  std::optional<double> memory_ratio;  // measured peak, or workspace if that is unknown
  std::optional<bool> has_same_bits;   // none unless both outputs were hashed and are repeatable
  std::string repro;                   // a shell line that repeats it

  bool has(Verdict verdict) const;
};

/// One run's record of the case; `block_samples` is from its method.
struct CaseSide {
  const CaseRecord* record = nullptr;  // null: no such case
  std::optional<int> block_samples;
};

/// At least one side must have the case.
CaseDiff diff_case(const CaseSide& first, const CaseSide& second, const DiffRules& rules);

// The comparisons of diff_case(), in time_diff.cc and output_diff.cc.

/// Sets the ratios of `diff`. Returns kSlow, kFast, kClock, kAmbiguous or kSame; kSame also if
/// neither run has a valid time. A ratio within the threshold is kSame if the uncertainty is at
/// most twice the threshold, and kAmbiguous otherwise, because a larger change could be hidden in
/// it.
CaseFinding compare_times(const CaseSide& first, const CaseSide& second, const DiffRules& rules,
                          CaseDiff& diff);

/// kWorse if an output's rel_l2 has grown by more than a twentieth, if lse's largest error has more
/// than doubled, or if more elements are not finite. Another order of summation changes rel_l2, a
/// mean over some 100,000 elements, by far less.
void compare_errors(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

/// kMemory if the measured peak has grown by more than 1 % and two driver pages, or the workspace
/// by more than 1 %.
void compare_memory(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

/// kBits if an output or the dropout mask has another hash, and both runs either found the output
/// repeatable or did not test it.
void compare_bits(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

}  // namespace sparkbench
