// How much faster a kernel is than a reference that was timed on the same problem: the unfused
// baseline as a sweep goes on, any kernel of a run that is stored.
#pragma once

#include <map>
#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// Of the one whose times are `ours` over the other, which is called `over`.
Speedup speedup_over(const std::string& over, const TimeMs& theirs, const TimeMs& ours,
                     bool is_interleaved);

/// The baselines met so far.
class TimedReferences {
 public:
  /// Remembers a correct, validly timed reference with tensor cores, and gives such a kernel its
  /// speedup over the latest one of its problem and device, unless it has one already. An fp32
  /// computation is a check, no baseline: that has the kernels' dtype.
  void compare(CaseRecord& record);

 private:
  std::map<std::string, CaseRecord> references_;
};

/// Gives each correct, validly timed case of the run its speedup over the kernel called `reference`
/// on the same problem and card, and takes away any other. One that was measured in turns with it
/// stays. Where that card has no such case, one of the same model will do (W-OTHER-CARD). Where
/// that kernel has no valid time the speedup is none, and a warning says why (W-NO-SPEEDUP). Throws
/// std::invalid_argument, one line, when the run has no kernel of that name, or none of its cases
/// can be compared with.
void compare_with_reference(const std::string& reference, RunRecord& run);

}  // namespace sparkbench
