// What a pass of a Volta kernel launches on a V100: which instances, in which order their blocks
// come, what these walk, and what they move.
#pragma once

#include <span>
#include <stdexcept>
#include <vector>

#include "harness/model/predict/block_schedule.h"
#include "kernels/attention_kernel.h"
#include "kernels/registry.h"

namespace sparkbench {

struct PassLaunch {
  /// Null: a memset, and of packed sequences the kernel that lists their blocks, and those of rows.
  const KernelInstance* instance = nullptr;
  BlockGrid grid;  // without blocks where there is no instance
  /// Bytes that HBM must move, L2 catching whatever is read again.
  double hbm_bytes = 0;
  /// Bytes between the SMs and L2: every tile as often as it is read, and atomic additions.
  double l2_bytes = 0;
};

/// What is launched is none of `instances`.
struct NoInstance : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// In the order of the launches, which is kernels/volta/*_gpu.cu's, of which those without a block
/// are none. `kernel` has the pass and the problem is one that it supports. Throws NoInstance.
std::vector<PassLaunch> launches_of_pass(
    const AttentionKernel& kernel, const Problem& problem, Pass pass, bool is_deterministic,
    std::span<const KernelInstance> instances = kernel_instances());

}  // namespace sparkbench
