// A pass of a fused kernel on the emulated machine.
#pragma once

#include "harness/candidates/candidate.h"

namespace sparkbench {

/// Computes the plan's tiles; other rows are poison. A backward pass by itself starts from the
/// exact O and LSE, or, when outputs are kept, from the kernel's, which are whole. One that follows
/// a forward pass starts from what that left; of rows outside of the plan's tiles, which it needs
/// where these are a sample, from the exact O and LSE.
RunOutcome emulate_pass(const AttentionKernel& kernel, const EmulationOptions& options,
                        const HostWork& work);

}  // namespace sparkbench
