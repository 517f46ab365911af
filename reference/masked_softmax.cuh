// Softmax, causal mask and dropout over the rows of S in GPU memory, in place: S becomes P.
//   1  m = max of the visible s,  l = sum of exp(s - m),  lse = m + log(l)
//   2  p = round(exp(s - m) / l), 0 where masked
//   3  p = round(keep_scale * p), 0 where dropped
// One warp a row, all arithmetic in fp32. A row without a visible key: p = 0, lse = -inf.
// A lane takes 16 columns of a 64-column group at a time, those of one dropout_bytes call.
#pragma once

#include <cuda_fp16.h>

#include <cmath>
#include <cstddef>

#include "kernels/attention.h"

namespace sparkbench {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kSoftmaxThreads = 128;

/// S or P, [rows, row_stride] with rows = batch * heads * seqlen_q, of which seqlen_k columns are
/// in use. row_stride is even; a column of padding may be read, is ignored, and is overwritten.
template <class T>
struct ScoreRows {
  T* data;
  std::size_t rows;
  std::size_t row_stride;
  int seqlen_q;
  int seqlen_k;
  bool causal;
  Dropout dropout;
};

__device__ inline float2 load_pair(const __half* p) {
  return __half22float2(*reinterpret_cast<const __half2*>(p));
}
__device__ inline float2 load_pair(const float* p) { return *reinterpret_cast<const float2*>(p); }
__device__ inline void store_pair(__half* p, float2 pair) {
  *reinterpret_cast<__half2*>(p) = __float22half2_rn(pair);
}
__device__ inline void store_pair(float* p, float2 pair) { *reinterpret_cast<float2*>(p) = pair; }

/// `value` as memory of type T would hold it.
template <class T>
__device__ float rounded_to(float value) {
  return static_cast<float>(static_cast<T>(value));
}

__device__ inline float warp_max(float value) {
  for (int mask = 16; mask > 0; mask /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

__device__ inline float warp_sum(float value) {
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  return value;
}

/// The 16 columns of one dropout_bytes call: 2 * pair + {0, 1} of each 8 columns of a group of 64.
struct Slice {
  int group;
  int pair;
};

/// visit(slice) for this lane's share of a row of `columns` columns.
template <class Visit>
__device__ void for_each_slice(int columns, Visit visit) {
  const int slices = (columns + 63) / 64 * 4;
  for (int i = threadIdx.x % kWarpSize; i < slices; i += kWarpSize) visit(Slice{i / 4, i % 4});
}

/// visit(column) for the even columns of a slice that are below `columns`.
template <class Visit>
__device__ void for_each_pair(const Slice& slice, int columns, Visit visit) {
  const int first = 64 * slice.group + 2 * slice.pair;
  for (int column = first; column < min(columns, first + 64); column += 8) visit(column);
}

/// Reduces combine(start, s) over this lane's visible scores.
template <class T, class Combine>
__device__ float fold_scores(const T* row, int visible, float start, Combine combine) {
  float folded = start;
  for_each_slice(visible, [&](const Slice& slice) {
    for_each_pair(slice, visible, [&](int column) {
      const float2 s = load_pair(row + column);
      folded = combine(folded, s.x);
      if (column + 1 < visible) folded = combine(folded, s.y);
    });
  });
  return folded;
}

/// Lines 2 and 3 of one row.
template <class T>
__device__ void write_p(const ScoreRows<T>& scores, std::size_t index, int visible, float m,
                        float l) {
  T* const row = scores.data + index * scores.row_stride;
  const auto row_in_head = static_cast<std::uint32_t>(index % scores.seqlen_q);
  const auto batch_head = static_cast<std::uint32_t>(index / scores.seqlen_q);
  const float keep_scale = scores.dropout.keep_scale();
  for_each_slice(scores.seqlen_k, [&](const Slice& slice) {
    const PhiloxBlock bytes =
        scores.dropout.threshold == 0
            ? PhiloxBlock{}
            : dropout_bytes(scores.dropout, batch_head, row_in_head, slice.group, slice.pair);
    const auto p = [&](float s, int column) {
      if (column >= visible || dropout_byte(bytes, column) < scores.dropout.threshold) return 0.0f;
      return rounded_to<T>(expf(s - m) / l) * keep_scale;
    };
    for_each_pair(slice, scores.seqlen_k, [&](int column) {
      const float2 s = load_pair(row + column);
      store_pair(row + column, make_float2(p(s.x, column), p(s.y, column + 1)));
    });
  });
}

/// Grid: at least `rows` warps. lse [rows].
template <class T>
__global__ void __launch_bounds__(kSoftmaxThreads)
    masked_softmax_dropout(ScoreRows<T> scores, float* lse) {
  const std::size_t index =
      std::size_t{blockIdx.x} * (kSoftmaxThreads / kWarpSize) + threadIdx.x / kWarpSize;
  if (index >= scores.rows) return;
  const int visible = visible_keys(static_cast<int>(index % scores.seqlen_q), scores.seqlen_q,
                                   scores.seqlen_k, scores.causal);
  const T* const row = scores.data + index * scores.row_stride;
  const float m = warp_max(
      fold_scores(row, visible, -INFINITY, [](float max, float s) { return fmaxf(max, s); }));
  const float l = warp_sum(
      fold_scores(row, visible, 0.0f, [m](float sum, float s) { return sum + expf(s - m); }));
  if (threadIdx.x % kWarpSize == 0) lse[index] = visible > 0 ? m + logf(l) : -INFINITY;
  write_p(scores, index, visible, m, l);
}

}  // namespace sparkbench
