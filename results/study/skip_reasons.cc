#include "results/study/skip_reasons.h"

#include <algorithm>

namespace sparkbench {

std::vector<SkipReason> skip_reasons(const std::vector<const CaseRecord*>& cases) {
  std::vector<SkipReason> reasons;
  for (const CaseRecord* record : cases) {
    if (record->status != Status::kSkipped || !record->reason) continue;
    const auto is_same = [&](const SkipReason& known) {
      return known.code == record->reason->code && known.message == record->reason->message;
    };
    auto reason = std::find_if(reasons.begin(), reasons.end(), is_same);
    if (reason == reasons.end()) {
      reason = reasons.insert(reasons.end(), {record->reason->code, record->reason->message, 0});
    }
    ++reason->count;
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const SkipReason& a, const SkipReason& b) { return a.count > b.count; });
  return reasons;
}

}  // namespace sparkbench
