// The gradient of masked_softmax.cuh over the rows of dP in GPU memory, in place: dP becomes dS.
//   1  dp = keep_scale * dp, 0 where dropped
//   2  delta = sum of p * dp over the visible columns
//   3  ds = round(p * (dp - delta)), 0 where masked
// All arithmetic in fp32. The mask is drawn again rather than read: it costs less than its bytes.
#pragma once

#include "reference/cublas/score_rows.cuh"

namespace sparkbench {

/// Line 2, this lane's share.
template <class T>
__device__ float partial_delta(const ScoreRow& row, const T* p_row, const T* dp_row) {
  const Range visible = row.visible();
  float delta = 0.0f;
  for_each_slice(visible, [&](const Slice& slice) {
    const PhiloxBlock bytes = row.dropout_bytes_of(slice);
    for_each_pair(slice, visible, [&](int column) {
      const float2 p = load_pair(p_row + column);
      const float2 dp = load_pair(dp_row + column);
      if (visible.contains(column)) delta += p.x * row.dropped(dp.x, bytes, column);
      if (visible.contains(column + 1)) delta += p.y * row.dropped(dp.y, bytes, column + 1);
    });
  });
  return delta;
}

/// p [rows, row_stride], before dropout. dp [rows, row_stride] becomes dS. Grid: score_rows_blocks.
template <class T>
__global__ void __launch_bounds__(kScoreRowsThreads)
    masked_softmax_dropout_backward(ScoreShape shape, const T* p, T* dp) {
  const ScoreRow row(shape);
  if (!row.exists()) return;
  const Range visible = row.visible();
  const T* const p_row = p + row.offset();
  T* const dp_row = dp + row.offset();
  const float delta = warp_sum(partial_delta(row, p_row, dp_row));
  for_each_slice(shape.all_columns(), [&](const Slice& slice) {
    const PhiloxBlock bytes = row.dropout_bytes_of(slice);
    const auto ds_of = [&](float p_at, float dp_at, int column) {
      return visible.contains(column) ? p_at * (row.dropped(dp_at, bytes, column) - delta) : 0.0f;
    };
    for_each_pair(slice, shape.all_columns(), [&](int column) {
      const float2 p_pair = load_pair(p_row + column);
      const float2 dp_pair = load_pair(dp_row + column);
      store_pair(dp_row + column, make_float2(ds_of(p_pair.x, dp_pair.x, column),
                                              ds_of(p_pair.y, dp_pair.y, column + 1)));
    });
  });
}

}  // namespace sparkbench
