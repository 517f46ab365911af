// The rows of instances.h as values.
#pragma once

#include <span>

#include "kernels/launch/kernel_instance.h"

namespace sparkbench::hopper {

std::span<const KernelInstance> instances();

}  // namespace sparkbench::hopper
