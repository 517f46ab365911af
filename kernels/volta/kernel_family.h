// The kernels of this folder, for the registry.
#pragma once

#include "kernels/launch/attention_kernel.h"

namespace sparkbench::volta {

KernelFamily kernel_family();

}  // namespace sparkbench::volta
