// The launch that lists the blocks of a varlen pass (work_lists.h).
#pragma once

#include <cstdint>

#include "kernels/launch/plan.h"
#include "kernels/varlen/work_lists.h"

namespace sparkbench {

/// A list that a launch makes, and what others read of it.
MemoryPart whole_list(const WorkListParams& list);
MemoryPart items_of(const WorkListParams& list);

/// Lists the blocks of those lists that have room for one: none where neither has.
std::vector<Step> list_steps(const WorkListParams& first, const WorkListParams& second);

}  // namespace sparkbench
