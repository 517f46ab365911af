// Why cases were skipped, and how many for each reason.
#pragma once

#include <string>
#include <vector>

#include "results/record/case_record.h"

namespace sparkbench {

struct SkipReason {
  std::string code, message;
  int count;
};

/// Of those cases that were skipped with a reason, the most frequent reason first; those as
/// frequent as each other in the order of their first cases.
std::vector<SkipReason> skip_reasons(const std::vector<const CaseRecord*>& cases);

}  // namespace sparkbench
