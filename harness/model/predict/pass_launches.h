// What a pass launches on a V100: instances, their blocks in launch order, the tiles that each
// block walks, and the bytes that it moves.
#pragma once

#include <vector>

#include "harness/model/predict/block_schedule.h"
#include "kernels/launch/attention_kernel.h"
#include "kernels/launch/serving_instance.h"

namespace sparkbench {

struct PassLaunch {
  /// Null for a memset, and for packed sequences' kernels that list blocks or go over rows.
  const KernelInstance* instance = nullptr;
  BlockGrid grid;  // without blocks where there is no instance
  /// Bytes that HBM must move if L2 serves every repeated read.
  double hbm_bytes = 0;
  /// Bytes between the SMs and L2: every tile as often as it is read, and atomic additions.
  double l2_bytes = 0;
};

/// In launch order, as the kernel's plan has them; launches without a block are left out. `kernel`
/// has the pass and supports the problem. Throws NoInstance (kernels/launch/serving_instance.h).
std::vector<PassLaunch> launches_of_pass(const AttentionKernel& kernel, const Problem& problem,
                                         Pass pass, bool is_deterministic);

/// Those of the unfused chain (kernels/baselines/acsr/), of a plan that was made with these tables.
std::vector<PassLaunch> launches_of_chain(const Problem& problem, const MaskTables& tables,
                                          const std::vector<Step>& plan);

}  // namespace sparkbench
