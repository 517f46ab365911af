// Strided tensors as a launch's global memory: q, k and v may be slices of one packed tensor, and
// bytes between the rows of a padded one are out of bounds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/machine/emulated/memory/global_memory.h"

namespace sparkbench {

/// Row (i, j, k) is the `row_bytes` at base + i * pitch_bytes[0] + j * pitch_bytes[1] +
/// k * pitch_bytes[2]. Pitches of extents above 1 may be 0, make rows overlap, but not be negative;
/// they, the base and row_bytes are multiples of 4. written_before, writable: as of a GlobalRegion.
struct TensorRegion {
  std::string name;
  void* base;
  std::size_t row_bytes;
  std::array<int, 3> extent;  // each at least 1
  std::array<std::int64_t, 3> pitch_bytes;
  bool written_before;
  bool writable = !written_before;
};

/// The regions of a launch over these tensors. Tensors of one kind (inputs, outputs, or both at
/// once) whose memory from first to last byte overlaps become one region: "q,k,v". Only bytes of
/// rows exist in a region. GlobalMemory refuses those of different kinds that overlap.
/// Throws std::invalid_argument, naming the tensor, for what TensorRegion does not allow.
std::vector<GlobalRegion> regions_of(std::span<const TensorRegion> tensors);

}  // namespace sparkbench
