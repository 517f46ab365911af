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

/// For the cases skipped with a reason: the most frequent reason first, ties in the order of their
/// first cases.
std::vector<SkipReason> skip_reasons(const std::vector<const CaseRecord*>& cases);

}  // namespace sparkbench
