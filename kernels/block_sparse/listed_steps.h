// The launches of a pattern's pass: an instance's blocks, as a list has them, and what combines the
// rows of blocks that are split (tile/sparse_list.h).
#pragma once

#include <vector>

#include "kernels/block_sparse/merge_steps.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/launch/plan.h"

namespace sparkbench {

/// One part of the workspace: heads and split rows of a tensor.
MemoryPart split_part(const char* name, const void* first, const Problem& problem, int heads,
                      int rows);

/// Lets a launch read the lists.
void read_lists(const SparseTileLists& lists, Step& step);

/// The partial gradients of a backward pass's split blocks; null if none is split.
struct GradientParts {
  GradientParts(const Problem& problem, int key_rows, int query_rows, Workspace& workspace);

  Bits16 *dk = nullptr, *dv = nullptr, *dq = nullptr;
};

/// The blocks of an instance by a list of the request, whose problem is without the pattern.
class ListedBlocks {
 public:
  ListedBlocks(const KernelInstance& instance, const PlanRequest& request, const SparseMask& mask,
               int list)
      : instance_(instance), request_(request), mask_(mask), list_(list) {}

  const KernelInstance& instance() const { return instance_; }
  const SparseTileLists& lists() const;
  /// The lists where the launch reads them.
  SparseLists at_launch() const;
  /// Split rows of a head. Asks the mask where the request has no lists.
  int part_rows() const;
  /// Heads that have blocks of their own.
  int heads() const;

  /// Lets a launch write the splits' rows of a tensor.
  void write_splits(const char* name, const void* first, Step& step) const;

  /// After the blocks, the splits' rows to those of the tensors: nothing where none is split.
  std::vector<Step> merge(const ForwardParams& params, const ForwardParts& parts) const;
  std::vector<Step> sum(const char* name, int head_chunks, const ChunkedView<Bits16>& part,
                        const ChunkedView<Bits16>& whole) const;

 private:
  const SparseSplit* splits_at_launch() const;
  RowsOfHeads split_rows() const;

  const KernelInstance& instance_;
  const PlanRequest& request_;
  const SparseMask& mask_;
  const int list_;
};

}  // namespace sparkbench
