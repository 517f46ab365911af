// Runs a pattern's strided views (pattern_launches.h) on the emulated machine, whatever kernels
// they are launches of.
#pragma once

#include <functional>

#include "kernels/base/sample.h"
#include "kernels/launch/plan.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench {

/// Runs the launches of one view, with or without a pattern.
using EmulateView =
    std::function<EmulationReport(const PlanRequest& of_view, const BackwardSample& sample)>;

/// The problem has_mask_passes(), and the request has lists. A forward pass's sample has query
/// tiles only.
EmulationReport emulate_views(const PlanRequest& request, const EmulationOptions& options,
                              const BackwardSample& sample, const EmulateView& emulate_view);

}  // namespace sparkbench
