// Runs the plans of the Volta kernels' passes on the emulated machine.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/launch/plan.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench::volta {

/// Host pointers. `tiles` names the query tiles to compute, those of varlen sequences by the batch
/// entry that a sequence is; empty means all. Other tiles of the same blocks are computed too;
/// other rows are neither read nor written.
EmulationReport emulate_forward(Accumulator accumulator, const PlanRequest& request,
                                const EmulationOptions& options, std::span<const SampleTile> tiles);

/// A sample's rows have the bits that the whole pass would give them (those of dQ, unless
/// deterministic or with the dQ semaphore at 64 columns, up to the order of its sums); other rows
/// are unspecified. For varlen, counts of blocks that did not run are estimated from how many tiles
/// they visit (work_list.h).
EmulationReport emulate_backward(Accumulator accumulator, const PlanRequest& request,
                                 const EmulationOptions& options, const BackwardSample& sample);

/// A dense pass with the dQ semaphore, whatever has_relay() says (backward/relay_plan.h). Every row
/// must see a key, and has_relay() must allow the columns. A sample needs slots for all steps.
EmulationReport emulate_backward_relay(Accumulator accumulator, const PlanRequest& request,
                                       const EmulationOptions& options, int slot_bits,
                                       const BackwardSample& sample);

}  // namespace sparkbench::volta
