// Runs the chain on the emulated machine.
#pragma once

#include "kernels/base/sample.h"
#include "kernels/launch/plan.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench::acsr {

/// The request has host pointers, for tables, too. Forward, computes the rows of the sample's query
/// tiles, and others of their classes. Backward, P, which a GPU has from the forward pass, is
/// computed first and is not in the report; O and LSE are not read; rows that a sample's rows
/// depend on are computed, too. Every pass is deterministic. Throws std::invalid_argument for a
/// head_dim that no instance serves.
EmulationReport emulate(const PlanRequest& request, const EmulationOptions& options,
                        const BackwardSample& sample);

}  // namespace sparkbench::acsr
