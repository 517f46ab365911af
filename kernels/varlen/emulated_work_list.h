// A varlen work list (work_lists.h) on the emulated machine.
#pragma once

#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/varlen/work_lists.h"

namespace sparkbench {

/// A list, and its memory, on the host.
class EmulatedWorkList {
 public:
  EmulatedWorkList(const Problem& packed, const PackedLengths& lengths, const WorkListKind& kind);

  /// Lists the blocks. Nothing where there is none.
  EmulationReport emulate(const EmulationOptions& options) const;
  const WorkListParams& params() const { return params_; }
  const WorkItem* items() const { return params_.items; }
  int size() const { return params_.items_end; }
  /// What a kernel reads.
  GlobalRegion region() const;

 private:
  std::vector<WorkItem> memory_;
  WorkListParams params_;
};

}  // namespace sparkbench
