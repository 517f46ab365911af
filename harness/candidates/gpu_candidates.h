// Candidates on a GPU in addition to our kernels: the unfused computation by cuBLAS, and vendors'
// kernels.
#pragma once

#include "harness/devices/device.h"

namespace sparkbench {

void add_gpu_references(int sm, OwnedCandidates& candidates);

/// Those whose libraries this machine has and that support compute capability `sm`.
void add_vendor_kernels(int sm, OwnedCandidates& candidates);

}  // namespace sparkbench
