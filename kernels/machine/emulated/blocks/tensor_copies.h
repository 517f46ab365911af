// The copies of the tensor memory accelerator for a block: each ends some time after it has been
// started, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/machine/emulated/memory/block_memory.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/tensor_copy/tensor_map.h"

namespace sparkbench {

/// A map that the emulated machine reads: the shape itself.
TensorMap encode_emulated_map(const TensorMapShape& shape);

/// A box of a tensor, or contiguous bytes.
struct TensorCopy {
  void* shared;
  std::uint32_t barrier;  // where it is
  int thread;             // that answers for the warp: its first
  CallSite site;
  // For a box.
  const TensorMap* map = nullptr;
  BoxPlace place{};
  // For contiguous bytes.
  const void* global = nullptr;
  int bytes = kBoxBytes;

  std::uint32_t start_time = 0;
};

class TensorCopies {
 public:
  explicit TensorCopies(BlockMemory& memory) : memory_(&memory) {}

  /// Counts the copy, and poisons what it writes.
  void start(TensorCopy copy, Counters& counters);
  bool is_any_pending() const { return !copies_.empty(); }
  /// Ends the copy that was started first, or last, and returns it.
  TensorCopy end(bool is_last);
  void forget() { copies_.clear(); }

 private:
  BlockMemory* memory_;
  std::vector<TensorCopy> copies_;
};

}  // namespace sparkbench
