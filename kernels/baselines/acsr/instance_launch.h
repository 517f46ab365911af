// The launches of this folder's instances (kernels/launch/instance_launch.h).
#pragma once

#include "kernels/launch/instance_launch.h"
#include "kernels/launch/kernel_instance.h"

namespace sparkbench::acsr {

/// Throws std::invalid_argument for an instance of another head_dim, and as MaskRows does.
InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench::acsr
