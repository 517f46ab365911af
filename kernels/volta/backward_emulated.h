// Runs the Volta backward kernels on the emulated machine.
#pragma once

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/sample.h"
#include "kernels/tensors.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

/// `tensors` are host pointers. A sample's rows have the bits that the whole pass would give them
/// (those of dQ, unless deterministic or in runs, up to the order of its sums); other rows are
/// unspecified.
EmulationReport emulate_backward(Accumulator accumulator, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample);

/// The same in runs (run_plan.h); of a sample, of a tile of keys each. Of dQ the bits are those of
/// any runs.
EmulationReport emulate_backward_runs(Accumulator accumulator, const Problem& problem,
                                      const BackwardTensors& tensors,
                                      const EmulationOptions& options, const KeyRuns& runs,
                                      const BackwardSample& sample = {});

}  // namespace sparkbench::volta
