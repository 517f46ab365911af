// How much faster a kernel is than the unfused baseline that was timed on the same problem.
#pragma once

#include <map>
#include <string>

#include "results/record/case_record.h"

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

}  // namespace sparkbench
