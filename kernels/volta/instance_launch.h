// The launches of this folder's instances (kernels/launch/instance_launch.h).
#pragma once

#include "kernels/launch/instance_launch.h"
#include "kernels/launch/kernel_instance.h"

namespace sparkbench::volta {

/// One for varlen takes the problem's batch entries for sequences, one for patterns a
/// mask for the pattern that it is. Throws std::invalid_argument for an instance of another
/// head_dim, or with dropout for a problem that drops nothing and the other way round.
InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench::volta
