// Eight fp16 numbers of a row as one access, and which of a group of rows dropout hides.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/encoder/layer_dropout.h"
#include "kernels/half.h"

namespace sparkbench {

constexpr int kVector = 8;     // halves in 16 bytes
constexpr int kGroupRows = 4;  // that a thread has in hand, so that their loads overlap
constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

/// fp32 numbers of eight columns.
struct Floats {
  float at[kVector];
};

__device__ __forceinline__ Floats zeros() { return Floats{}; }

__device__ __forceinline__ Floats load(const Half* data) {
  const uint4 raw = *reinterpret_cast<const uint4*>(data);
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
  Floats values;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    __half2 pair;
    memcpy(&pair, &words[i], sizeof pair);
    const float2 both = __half22float2(pair);
    values.at[2 * i] = both.x;
    values.at[2 * i + 1] = both.y;
  }
  return values;
}

__device__ __forceinline__ void store(Half* data, const Floats& values) {
  std::uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __half2 pair = __floats2half2_rn(values.at[2 * i], values.at[2 * i + 1]);
    memcpy(&words[i], &pair, sizeof pair);
  }
  *reinterpret_cast<uint4*>(data) = make_uint4(words[0], words[1], words[2], words[3]);
}

/// dropout(values), `dropped` having a bit for each.
__device__ __forceinline__ Floats drop(const Floats& values, std::uint32_t dropped, float scale) {
  Floats kept;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    kept.at[i] = (dropped >> i & 1u) != 0u ? 0.0f : values.at[i] * scale;
  }
  return kept;
}

/// Which of eight columns of each of `kRows` rows dropout hides. Four lanes share a block of 32
/// columns: of four rows each lane draws one and hands it to the others, so all lanes of a warp
/// must come along, those beyond the last column too.
template <int kRows>
struct GroupDropout {
  std::uint32_t drawn = 0;

  __device__ __forceinline__ GroupDropout(const Dropout& dropout, DropoutSite site, int first_row,
                                          int column) {
    if (dropout.threshold == 0u) return;
    const auto lane_row = static_cast<std::uint32_t>(kRows == 4 ? threadIdx.x & 3u : 0u);
    drawn = dropped_columns(dropout, site, static_cast<std::uint32_t>(first_row) + lane_row,
                            static_cast<std::uint32_t>(column) & ~31u);
  }
  /// Bits of the row `i` of the group.
  __device__ __forceinline__ std::uint32_t of_row(int i, int column) const {
    const std::uint32_t block =
        kRows == 4 ? __shfl_sync(kAllLanes, drawn, static_cast<int>(threadIdx.x & 28u) + i) : drawn;
    return block >> (static_cast<std::uint32_t>(column) & 31u) & 0xffu;
  }
};

}  // namespace sparkbench
