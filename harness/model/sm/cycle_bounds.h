// What a unit of an SM needs at least for the paths of its warps, however they are scheduled.
#pragma once

#include <string_view>
#include <vector>

#include "harness/model/sm/sm_simulator.h"
#include "harness/model/sm/timed_code.h"

namespace sparkbench {

enum class BoundedUnit {
  kTensor,      // HMMA alone
  kTensorPort,  // with FP16 and FP64, which share its port
  kIssue,
  kFp32,
  kAlu,
  kXu,
  kLsu,       // 128 bytes a clock of the data path
  kMioLanes,  // between two instructions of a scheduler
  kL2,        // the SM's share
};

/// "tensor", "tensor port", "issue", "fp32", "alu", "xu", "lsu", "mio lanes", "l2"
std::string_view name_of(BoundedUnit unit);

struct CycleBound {
  BoundedUnit unit;
  double cycles;
};

/// For one pass of the resident blocks' paths, the largest first; units that nothing uses are left
/// out. A scheduler's unit counts for the scheduler that has most to do.
std::vector<CycleBound> cycle_bounds(const TimedCode& code,
                                     const std::vector<const BlockPaths*>& blocks);

}  // namespace sparkbench
