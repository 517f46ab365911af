// Runs the plans of the Hopper kernels' passes on the emulated machine.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/hopper/dq_form.h"
#include "kernels/hopper/row_form.h"
#include "kernels/launch/plan.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench::hopper {

/// Host pointers, for_emulated_device() (kernels/launch/run_emulated.h). The problem may have a
/// pattern, but no strided views (kernels/strided/passes_emulated.h). Forward, the sample names the
/// query tiles to compute, those of varlen sequences by the batch entry that a sequence is.
/// Backward it computes dQ of its query tiles and dK and dV of its key tiles; of varlen sequences
/// whose dQ is summed, the sampled ones whole. Whatever else the blocks have is computed too; all
/// other rows are neither read nor written.
EmulationReport emulate(const PlanRequest& request, const EmulationOptions& options,
                        const BackwardSample& sample);

/// The same of a dense forward pass, and of a dense or varlen backward pass, of such a form.
EmulationReport emulate_forward(const PlanRequest& request, const EmulationOptions& options,
                                RowForm form, std::span<const SampleTile> tiles);
EmulationReport emulate_backward(const PlanRequest& request, const EmulationOptions& options,
                                 DqForm dq, const BackwardSample& sample);

}  // namespace sparkbench::hopper
