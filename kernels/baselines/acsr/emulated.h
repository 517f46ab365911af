// Runs the chain on the emulated machine.
#pragma once

#include "kernels/base/sample.h"
#include "kernels/launch/plan.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench::acsr {

/// All pointers, that of the tables, too, are the host's. A forward pass computes the sample's
/// query tiles and the other rows of their blocks. A backward pass first computes P, which a GPU
/// has from the forward pass and which is not in the report, and reads neither O nor LSE; it also
/// computes rows that the sample's depend on. Every pass is deterministic. Throws
/// std::invalid_argument for a head_dim that no instance serves.
EmulationReport emulate(const PlanRequest& request, const EmulationOptions& options,
                        const BackwardSample& sample);

}  // namespace sparkbench::acsr
