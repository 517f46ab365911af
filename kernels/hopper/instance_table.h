// The rows of instances.h as values.
#pragma once

#include <span>

#include "kernels/launch/kernel_instance.h"

namespace sparkbench::hopper {

std::span<const KernelInstance> instances();

/// The instance of a row.
const KernelInstance& instance_named(std::string_view id);

}  // namespace sparkbench::hopper
