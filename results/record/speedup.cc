#include "results/record/speedup.h"

#include <cmath>

#include "results/record/case_id.h"

namespace sparkbench {

Speedup speedup_over(const std::string& over, const TimeMs& theirs, const TimeMs& ours,
                     bool is_interleaved) {
  const double ratio = theirs.median / ours.median;
  const double doubt = std::hypot(theirs.stdev / theirs.mean, ours.stdev / ours.mean);
  return {over, ratio, ratio * doubt, theirs.median, is_interleaved};
}

void TimedReferences::compare(CaseRecord& record) {
  if (!record.time_ms || !record.valid || record.status != Status::kOk) return;
  const std::string key = make_problem_key(record.problem) + " on " + record.device.value_or("");
  if (record.role == Role::kReference) {
    if (record.accumulator) references_.insert_or_assign(key, record);
    return;
  }
  const auto reference = references_.find(key);
  if (reference == references_.end() || record.speedup) return;
  record.speedup =
      speedup_over(reference->second.kernel, *reference->second.time_ms, *record.time_ms, false);
}

}  // namespace sparkbench
