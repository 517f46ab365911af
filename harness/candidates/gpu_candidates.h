// What runs on a GPU besides our kernels: the unfused computation by cuBLAS, and vendors' kernels.
#pragma once

#include "harness/devices/device.h"

namespace sparkbench {

void add_gpu_references(int sm, OwnedCandidates& candidates);

/// Those that this machine has libraries for, and that know compute capability `sm`.
void add_vendor_kernels(int sm, OwnedCandidates& candidates);

}  // namespace sparkbench
