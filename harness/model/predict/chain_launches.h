// What the unfused chain of kernels/acsr/ launches on a V100.
#pragma once

#include <span>
#include <vector>

#include "harness/model/predict/pass_launches.h"

namespace sparkbench {

/// Whether a kernel is that chain, whose launches are no fused kernel's.
bool is_chain(const AttentionKernel& kernel);

/// As launches_of_pass(). A backward pass begins with P.
std::vector<PassLaunch> launches_of_chain(const Problem& problem, Pass pass,
                                          std::span<const KernelInstance> instances);

}  // namespace sparkbench
