// Shared by launches over the lists of a pattern (sparse_lists.h) on the emulated machine: the
// memory that they read and write, which blocks serve a sample, and a whole forward pass of any
// kernel.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernels/base/sample.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/launch/tensor_regions.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

template <class T>
void append_list(const char* name, const std::vector<T>& list, std::vector<GlobalRegion>& all) {
  if (list.empty()) return;
  all.push_back({name, const_cast<T*>(list.data()), list.size() * sizeof(T), true});
}

/// The regions of the lists that a kernel reads.
void append_lists(const SparseTileLists& lists, std::vector<GlobalRegion>& all);

/// Rows of one tensor that parts of a launch store.
class PartTensor {
 public:
  PartTensor(const char* name, const Problem& problem, int heads, int rows)
      : name_(name),
        halves_(static_cast<std::size_t>(problem.batch) * static_cast<std::size_t>(rows) *
                static_cast<std::size_t>(heads) * static_cast<std::size_t>(problem.head_dim)) {}

  Half* data() { return halves_.data(); }
  void append_written(std::vector<GlobalRegion>& all) { append(false, all); }
  void append_read(std::vector<GlobalRegion>& all) { append(true, all); }

 private:
  void append(bool is_read, std::vector<GlobalRegion>& all) {
    if (halves_.empty()) return;
    all.push_back({name_, halves_.data(), halves_.size() * sizeof(Half), is_read, !is_read});
  }

  const char* name_;
  std::vector<Half> halves_;
};

/// The launch of a kernel that combines splits, kMergeRows rows of a split per block; for a sample,
/// those of its tiles.
LaunchShape split_shape(const char* kernel, const SparseTileLists& lists, int block_rows,
                        const TensorShape& of, std::span<const SampleTile> tiles);
/// Whether it has nothing to do: a sample of no such rows would mean all.
bool has_nothing(const LaunchShape& shape, std::span<const SampleTile> tiles);

/// A launch of a list's blocks: all of them, or those that have rows, or keys, of a sample.
struct ListLaunch {
  const char* id;
  int threads;
  std::size_t shared_bytes;
  const SparseTileLists& lists;
  int heads, batch;  // that have blocks
  int block_rows;
};

LaunchShape list_shape(const ListLaunch& launch, std::span<const SampleTile> tiles);

/// A forward kernel whose blocks have such lists.
struct ListedForward {
  const char* id;  // of the instance
  int threads;     // of a block
  std::size_t shared_bytes;
  SparseListKind kind;
  /// Runs the kernel over the list's blocks, as launched: their shape, and what memory there is.
  std::function<EmulationReport(const LaunchShape&, std::span<const GlobalRegion>,
                                const ForwardParams&)>
      launch;
};
/// The problem has a pattern, `tensors` are host pointers, `tiles` the query tiles to compute:
/// none means all. Splits are then combined, too.
EmulationReport emulate_listed_forward(const ListedForward& forward, const Problem& problem,
                                       const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles);

}  // namespace sparkbench
