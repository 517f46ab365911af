// A pass of a fused kernel on the emulated machine.
#pragma once

#include "harness/candidates/candidate.h"

namespace sparkbench {

/// Computes the plan's tiles; other rows hold poison. A backward pass by itself starts from the
/// exact O and LSE or, if outputs are kept, from the kernel's own complete ones. After a forward
/// pass it starts from that pass's output. If the plan's tiles are a sample, it takes the other
/// rows that it needs from the exact O and LSE.
RunOutcome emulate_pass(const AttentionKernel& kernel, const EmulationOptions& options,
                        const HostWork& work);

}  // namespace sparkbench
