// Softmax, mask and dropout over the rows of S in GPU memory, in place: S becomes P.
//   1  m = max of the visible s,  l = sum of exp(s - m),  lse = m + log(l)
//   2  p = round(exp(s - m) / l), 0 where masked
//   3  p = round(keep_scale * p), 0 where dropped
// All arithmetic in fp32. A row without a visible key: p = 0, lse = -inf.
#pragma once

#include <cmath>

#include "reference/cublas/score_rows.cuh"

namespace sparkbench {

/// Reduces combine(start, s) over this lane's visible scores.
template <class T, class Combine>
__device__ float fold_scores(const T* row, const Range& visible, float start, Combine combine) {
  float folded = start;
  for_each_slice(visible, [&](const Slice& slice) {
    for_each_pair(slice, visible, [&](int column) {
      const float2 s = load_pair(row + column);
      if (visible.contains(column)) folded = combine(folded, s.x);
      if (visible.contains(column + 1)) folded = combine(folded, s.y);
    });
  });
  return folded;
}

/// scores [rows, row_stride] becomes the P of line 3; `kept_p`, unless null, takes that of line 2,
/// as a training step keeps it. lse [rows]. Grid: score_rows_blocks.
template <class T>
__global__ void __launch_bounds__(kScoreRowsThreads)
    masked_softmax_dropout(ScoreShape shape, T* scores, T* kept_p, float* lse) {
  const ScoreRow row(shape);
  if (!row.exists()) return;
  const Range visible = row.visible();
  T* const s_row = scores + row.offset();
  const float m = warp_max(
      fold_scores(s_row, visible, -INFINITY, [](float max, float s) { return fmaxf(max, s); }));
  const float l = warp_sum(
      fold_scores(s_row, visible, 0.0f, [m](float sum, float s) { return sum + expf(s - m); }));
  if (threadIdx.x % kWarpSize == 0) lse[row.index()] = visible.is_empty() ? -INFINITY : m + logf(l);
  const auto p_of = [&](float s, int column) {
    return visible.contains(column) ? rounded_to<T>(expf(s - m) / l) : 0.0f;
  };
  for_each_slice(shape.all_columns(), [&](const Slice& slice) {
    const PhiloxBlock bytes = row.dropout_bytes_of(slice);
    for_each_pair(slice, shape.all_columns(), [&](int column) {
      const float2 s = load_pair(s_row + column);
      const float2 p = make_float2(p_of(s.x, column), p_of(s.y, column + 1));
      if (kept_p != nullptr) store_pair(kept_p + row.offset() + column, p);
      store_pair(s_row + column,
                 make_float2(row.dropped(p.x, bytes, column), row.dropped(p.y, bytes, column + 1)));
    });
  });
}

}  // namespace sparkbench
