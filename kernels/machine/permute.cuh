// prmt.b32 where CUDA's __byte_perm does not reach: its sign mode.
#pragma once

#include <cstdint>

namespace sparkbench {

/// Four bytes, each 0xff or 0 by the sign bit of a byte of `x`: nibble i of kSelector is 8 plus the
/// index of the byte that decides byte i.
template <std::uint32_t kSelector>
__device__ __forceinline__ std::uint32_t permute_signs(std::uint32_t x) {
  static_assert((kSelector & 0xccccu) == 0x8888u, "bytes 0 to 3, in sign mode");
  std::uint32_t result;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(result) : "r"(x), "n"(kSelector));
  return result;
}

}  // namespace sparkbench
