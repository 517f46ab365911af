// The page of `sparkbench judge`: whether a kernel is right, and where it is wrong; its error,
// whether it repeats its bits, its speed beside others, its memory.
#pragma once

#include <string>

#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// What the wrong cases of a kernel have in common, in order of how much it tells.
struct CommonTrait {
  std::string what;  // "a backward pass"
  bool is_exact;     // and no case that is right has it
};

/// Traits that every incorrect or failed case of `kernel` has and not every correct one; exact ones
/// first, then those that the fewest correct cases have. At most three.
std::vector<CommonTrait> common_traits(const RunRecord& run, const std::string& kernel);

/// The page of one kernel. Cases of the run's other kernels are what its times are compared with.
std::string format_judgement(const RunRecord& run, const std::string& kernel,
                             const TableView& view);

}  // namespace sparkbench
