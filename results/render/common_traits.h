// What the wrong cases of a kernel have in common.
#pragma once

#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

struct CommonTrait {
  std::string what;  // "a backward pass"
  bool is_exact;     // and no case that is right has it
};

/// Traits that every incorrect or failed case of `kernel` has and not every correct one; exact ones
/// first, then those that the fewest correct cases have. At most three.
std::vector<CommonTrait> common_traits(const RunRecord& run, const std::string& kernel);

}  // namespace sparkbench
