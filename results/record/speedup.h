// Speed-ups over a reference that was timed on the same problem: over the unfused baseline during a
// sweep, and over any kernel of a stored run.
#pragma once

#include <map>
#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// Speed-up of the kernel with times `ours` over the other, named `over`.
Speedup speedup_over(const std::string& over, const TimeMs& theirs, const TimeMs& ours,
                     bool is_interleaved);

/// The baselines seen so far.
class TimedReferences {
 public:
  /// Stores a correct, validly timed reference with tensor cores. Gives such a kernel its speed-up
  /// over the latest reference for its problem and device, unless it already has one. An fp32
  /// computation is only a check: a baseline has the kernels' dtype.
  void compare(CaseRecord& record);

 private:
  std::map<std::string, CaseRecord> references_;
};

/// Gives each correct, validly timed case of the run its speed-up over the kernel `reference` on
/// the same problem and card, and removes any other speed-up. An interleaved one over that kernel
/// is kept. If the card has no such case, one on the same model is used (W-OTHER-CARD). If that
/// kernel has no valid time there is no speed-up, and a warning says why (W-NO-SPEEDUP). Throws
/// std::invalid_argument, one line, if the run has no kernel of that name, or none of its cases is
/// usable as a reference.
void compare_with_reference(const std::string& reference, RunRecord& run);

}  // namespace sparkbench
