// Eight fp16 numbers of a row as one access, which of them dropout hides, and what all kernels over
// rows do with them.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/base/half.h"
#include "reference/encoder/layer_dropout.h"
#include "reference/encoder/row_kernels.h"

namespace sparkbench {

constexpr int kVector = 8;     // halves in 16 bytes
constexpr int kGroupRows = 4;  // that a thread has in hand where it needs no whole row
constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

/// fp32 numbers of eight columns.
struct Floats {
  float at[kVector];
};

__device__ __forceinline__ Floats zeros() { return Floats{}; }

/// Eight halves as they lie in memory: half of the registers.
__device__ __forceinline__ uint4 load_raw(const Half* data) {
  return *reinterpret_cast<const uint4*>(data);
}

__device__ __forceinline__ Floats widened(const uint4& raw) {
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

__device__ __forceinline__ Floats load(const Half* data) { return widened(load_raw(data)); }

__device__ __forceinline__ void store(Half* data, const Floats& values) {
  std::uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __half2 pair = __floats2half2_rn(values.at[2 * i], values.at[2 * i + 1]);
    memcpy(&words[i], &pair, sizeof pair);
  }
  *reinterpret_cast<uint4*>(data) = make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ __forceinline__ void store_floats(float* data, const Floats& values) {
  auto* const to = reinterpret_cast<float4*>(data);
  to[0] = make_float4(values.at[0], values.at[1], values.at[2], values.at[3]);
  to[1] = make_float4(values.at[4], values.at[5], values.at[6], values.at[7]);
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

/// Which of eight columns of a row dropout hides.
__device__ __forceinline__ std::uint32_t dropped_of_row(const Dropout& dropout, DropoutSite site,
                                                        int row, int column) {
  if (dropout.threshold == 0u) return 0u;
  const auto first = static_cast<std::uint32_t>(column);
  const std::uint32_t block =
      dropped_columns(dropout, site, static_cast<std::uint32_t>(row), first & ~31u);
  return block >> (first & 31u) & 0xffu;
}

/// The same of a group of rows. Four lanes share a block of 32 columns: each draws one of the rows
/// and hands it to the others, so all lanes of a warp must come along, those beyond the last column
/// too.
struct GroupDropout {
  std::uint32_t drawn = 0;

  __device__ __forceinline__ GroupDropout(const Dropout& dropout, DropoutSite site, int first_row,
                                          int column) {
    if (dropout.threshold == 0u) return;
    const int row = first_row + static_cast<int>(threadIdx.x) % kGroupRows;
    drawn = dropped_columns(dropout, site, static_cast<std::uint32_t>(row),
                            static_cast<std::uint32_t>(column) & ~31u);
  }
  /// Bits of the row `i` of the group.
  __device__ __forceinline__ std::uint32_t of_row(int i, int column) const {
    const std::uint32_t block =
        __shfl_sync(kAllLanes, drawn, static_cast<int>(threadIdx.x & 28u) + i);
    return block >> (static_cast<std::uint32_t>(column) & 31u) & 0xffu;
  }
};

inline int vectors_of(RowExtents extents) { return extents.columns / kVector; }

__device__ __forceinline__ std::size_t element(RowExtents extents, int row, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(extents.columns) +
         static_cast<std::size_t>(column);
}

/// residual + dropout(x + bias) of one row's eight columns, already loaded.
__device__ __forceinline__ Floats added(Floats x, const Floats& bias, const Floats& residual,
                                        std::uint32_t dropped, float scale) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) x.at[i] += bias.at[i];
  x = drop(x, dropped, scale);
#pragma unroll
  for (int i = 0; i < kVector; ++i) x.at[i] += residual.at[i];
  return x;
}

__device__ __forceinline__ float scale_of(const Dropout& dropout) {
  return dropout.threshold == 0u ? 1.0f : dropout.keep_scale;
}

}  // namespace sparkbench
