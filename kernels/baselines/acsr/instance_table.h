// The rows of instances.h as values.
#pragma once

#include <span>

#include "kernels/launch/kernel_instance.h"

namespace sparkbench::acsr {

std::span<const KernelInstance> instances();

}  // namespace sparkbench::acsr
