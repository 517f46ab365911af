// The plan of a pattern that is run as strided views (pattern_launches.h), whatever kernels these
// are launches of.
#pragma once

#include <vector>

#include "kernels/launch/plan.h"
#include "kernels/strided/pattern_launches.h"

namespace sparkbench {

/// The problem has_mask_passes(). `memory` has the bytes of `layout`. `plan_view` plans the
/// launches of one view, with or without a pattern.
std::vector<Step> plan_of_views(const PlanRequest& request, const PassesWorkspace& layout,
                                void* memory, const PlanPass& plan_view);

}  // namespace sparkbench
