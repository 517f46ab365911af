// The operands of wgmma.mma_async.m64nNk16 with .f16 (PTX ISA, "Asynchronous warpgroup level
// matrix multiply-accumulate"): the 64xN product of a warpgroup, four warps. Warp w of them has
// rows 16w to 16w + 15. Its C, D, and its A where that is in registers, are those of m16n8k16
// (m16n8k16.h); fragment j of C has columns 8j to 8j + 7.
//
// Operands in shared memory are named by a descriptor. Here they have the 128-byte swizzle: a line
// has 128 bytes, eight lines are an atom of 1024, and atoms are aligned to their size. In bytes,
//
//   operand                       element      lies, before the swizzle, at
//   K-major: A row-major,         (row, k)     row / 8 stride + row % 8 128 + 2 k
//     B column-major
//   MN-major: B row-major,        (k, column)  column / 64 leading + k / 8 stride + k % 8 128
//     A column-major                           + 2 (column % 64)
//
// beyond the descriptor's start, a row of B column-major being a column, and a column of A
// column-major a row. The swizzle exchanges the
// 16-byte pieces of a line: bits 4 to 6 of the address change by bits 7 to 9. As it acts on the
// address, a K-major operand's next 16 k begin 32 bytes on: add 2 to the descriptor.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/machine/mma/m16n8k16.h"

namespace sparkbench::wgmma {

inline constexpr int kM = 64, kK = 16;
inline constexpr int kWarps = 4;  // of a warpgroup
inline constexpr int kWarpM = kM / kWarps;

/// The descriptor of the operand at `address` of shared memory, a multiple of 16. A K-major operand
/// ignores `leading_bytes`.
SPARK_HD std::uint64_t matrix_descriptor(std::uint32_t address, int leading_bytes,
                                         int stride_bytes) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  const auto field = [](std::uint32_t bytes) { return std::uint64_t{(bytes & 0x3ffffu) >> 4}; };
  return field(address) | field(static_cast<std::uint32_t>(leading_bytes)) << 16 |
         field(static_cast<std::uint32_t>(stride_bytes)) << 32 | kSwizzle128;
}

/// A descriptor's fields, in bytes.
struct MatrixDescriptor {
  std::uint32_t start, leading, stride;
};
SPARK_HD MatrixDescriptor decoded(std::uint64_t descriptor) {
  const auto field = [&](int first_bit) {
    return static_cast<std::uint32_t>(descriptor >> first_bit & 0x3fffu) << 4;
  };
  return {field(0), field(16), field(32)};
}

SPARK_HD std::uint32_t swizzled(std::uint32_t address) { return address ^ (address >> 3 & 0x70u); }

/// Where element (row, k) of a K-major operand is.
SPARK_HD std::uint32_t k_major_address(const MatrixDescriptor& operand, std::uint32_t row,
                                       std::uint32_t k) {
  return swizzled(operand.start + row / 8 * operand.stride + row % 8 * 128 + 2 * k);
}
/// Where element (k, column) of an MN-major operand is.
SPARK_HD std::uint32_t mn_major_address(const MatrixDescriptor& operand, std::uint32_t k,
                                        std::uint32_t column) {
  return swizzled(operand.start + column / 64 * operand.leading + k / 8 * operand.stride +
                  k % 8 * 128 + 2 * (column % 64));
}

}  // namespace sparkbench::wgmma
