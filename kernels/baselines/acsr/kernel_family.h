// The chain of this folder, for the registry.
#pragma once

#include "kernels/launch/attention_kernel.h"

namespace sparkbench::acsr {

KernelFamily kernel_family();

}  // namespace sparkbench::acsr
