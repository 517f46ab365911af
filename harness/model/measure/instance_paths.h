// What the warps of an instance's blocks issue for a problem.
#pragma once

#include "harness/model/flow/block_paths.h"
#include "kernels/launch/kernel_instance.h"

namespace sparkbench {

/// The launch of `instance` for `problem`, with tensors at made-up addresses. Throws
/// std::invalid_argument where the instance is not for the problem.
KernelLaunch kernel_launch_of(const KernelInstance& instance, const Problem& problem);

/// `function` is the machine code of `instance` for sm_70; its blocks are read with of_block().
/// Throws as kernel_launch_of() and LaunchPaths do.
LaunchPaths paths_of(const SassFunction& function, const KernelInstance& instance,
                     const Problem& problem);

}  // namespace sparkbench
