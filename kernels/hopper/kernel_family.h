// The kernels of this folder, for the registry.
#pragma once

#include "kernels/attention_kernel.h"

namespace sparkbench::hopper {

KernelFamily kernel_family();

}  // namespace sparkbench::hopper
