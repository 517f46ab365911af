// Whether what a call writes lies in memory of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sparkbench {

/// Rows of a tensor, in bytes: row (i, j, k) is the row_bytes at
/// data + i * pitch[0] + j * pitch[1] + k * pitch[2].
struct RowsInMemory {
  const char* name;
  const void* data;
  std::array<std::int64_t, 3> extent;
  std::array<std::int64_t, 3> pitch;
  std::int64_t row_bytes;
};

/// Throws std::invalid_argument for an output whose rows overlap each other, and for one that
/// begins in a row of another tensor or has another's begin in one of its rows. The first `outputs`
/// tensors are outputs. Slices of one packed tensor do not overlap.
void check_outputs(std::span<const RowsInMemory> tensors, std::size_t outputs);

}  // namespace sparkbench
