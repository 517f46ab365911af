// The tensor memory accelerator's description of a tensor (PTX ISA, "Tensors"; CUDA driver API,
// cuTensorMapEncodeTiled): made on the host, once per launch, and read only by copy_box_async().
// Its bits are the hardware's, or for the emulated machine the shape itself.
#pragma once

#include <cstdint>

#include "kernels/base/half.h"

namespace sparkbench {

/// A tensor [batch, rows, heads, columns] of 16-bit elements; columns are contiguous.
struct TensorMapShape {
  const Bits16* first;
  std::uint32_t columns, rows, heads, batch;
  // In bytes: multiples of 16, of extents above 1.
  std::uint64_t row_stride, head_stride, batch_stride;
};

/// Rows and columns of one copy; columns fill a swizzle of 128 bytes.
inline constexpr int kBoxRows = 64, kBoxColumns = 64;
inline constexpr int kBoxBytes = kBoxRows * kBoxColumns * 2;

struct alignas(64) TensorMap {
  std::uint64_t word[16];
};

/// Where a box begins. Elements outside the tensor are zeros.
struct BoxPlace {
  int column, row, head, batch;
};

/// A barrier of a block in shared memory (PTX ISA, "mbarrier"). A phase ends once the number of
/// warps that it was made for have arrived, and all bytes that they told it to expect have come. A
/// phase's parity is 0 for the first, then 1, 0, ...
struct alignas(8) Mbarrier {
  std::uint64_t state;
};

}  // namespace sparkbench
