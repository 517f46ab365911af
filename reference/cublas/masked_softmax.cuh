// Softmax, mask and dropout over the rows of S in GPU memory, in place: S becomes P.
//   1  m = max of the visible s,  l = sum of exp(s - m),  lse = m + log(l)
//   2  p = round(exp(s - m) / l), 0 where masked
//   3  p = round(keep_scale * p), 0 where dropped
// All arithmetic in fp32. A row without a visible key: p = 0, lse = -inf.
#pragma once

#include "kernels/machine/gpu.cuh"
#include "kernels/tile/log2e.h"
#include "reference/cublas/dropout_bits.cuh"

namespace sparkbench {

/// exp(s - m). A maximum of -inf counts as 0: no exponential of a score of -inf is then NaN.
class ExpOf {
 public:
  __device__ __forceinline__ explicit ExpOf(float m)
      : minus_base_(m == -INFINITY ? 0.0f : -kLog2E * m) {}
  __device__ __forceinline__ float operator()(float s) const {
    return GpuMachine().exp2(__fmaf_rn(s, kLog2E, minus_base_));
  }

 private:
  float minus_base_;
};

/// Line 1 of some columns.
struct SoftmaxSums {
  float m = -INFINITY, l = 0.0f;
};

__device__ __forceinline__ SoftmaxSums merged(const SoftmaxSums& a, const SoftmaxSums& b) {
  const float m = fmaxf(a.m, b.m);
  const ExpOf exp_of(m);
  return {m, a.l * exp_of(a.m) + b.l * exp_of(b.m)};
}

/// Of a warp's columns of a segment.
template <class T, int kLanes, int kChunks>
__device__ __forceinline__ SoftmaxSums sums_of_warp(const TeamRow<kLanes>& row,
                                                    const RowChunks<T, kChunks>& s, int segment) {
  auto most = s.chunk[0].pair[0];
#pragma unroll
  for (const auto& chunk : s.chunk) {
    for (const auto& pair : chunk.pair) most = max_of(most, pair);
  }
  const float2 of_lane = widened(most);
  const float m = max_of_lanes<kLanes>(fmaxf(of_lane.x, of_lane.y));
  const ExpOf exp_of(m);
  float l = 0.0f;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    if (!row.reaches(row.template first_column<kChunks>(segment, c))) continue;
    for (const auto& pair : s.chunk[c].pair) {
      const float2 wide = widened(pair);
      l += exp_of(wide.x) + exp_of(wide.y);
    }
  }
  return {m, sum_of_lanes<kLanes>(l)};
}

/// Of a row, of the sums of its team's warps.
template <int kLanes>
__device__ __forceinline__ SoftmaxSums sums_of_team(const TeamRow<kLanes>& row,
                                                    const SoftmaxSums& own) {
  if (kLanes < kWarpLanes || row.team_warps() == 1) return own;
  __shared__ SoftmaxSums of_warp[kMostTeamWarps];
  if (row.lane() == 0) of_warp[row.warp()] = own;
  __syncthreads();
  SoftmaxSums sums;
  if (row.lane() < row.team_warps()) sums = of_warp[row.lane()];
  const float m = max_of_lanes<kLanes>(sums.m);
  return {m, sum_of_lanes<kLanes>(sums.l * ExpOf(m)(sums.m))};
}

/// Where lines 2 and 3 write a row. `kept_p` is null where nobody wants line 2's.
template <class T>
struct ProbabilityRows {
  T *kept_p, *dropped_p;
};

/// Lines 2 and 3 of a segment.
template <bool kDrops, class T, int kLanes, int kChunks>
__device__ __forceinline__ void write_probabilities(const TeamRow<kLanes>& row,
                                                    const RowChunks<T, kChunks>& s, int segment,
                                                    const SoftmaxSums& sums,
                                                    const ProbabilityRows<T>& rows) {
  const ExpOf exp_of(sums.m);
  const float per_l = 1.0f / sums.l, keep_scale = row.dropout().keep_scale();
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const int first = row.template first_column<kChunks>(segment, c);
    KeptChunks kept;  // of an even chunk and the next
    if constexpr (kDrops) {
      const int second = row.template first_column<kChunks>(segment, c | 1);
      if (c % 2 == 0 && __any_sync(0xffffffffu, row.reaches(first) || row.reaches(second))) {
        kept = kept_columns(row, first, second);
      }
    }
    const int column = row.lane_column(first);
    if (!row.has(column)) continue;
    ScoreChunk<T> p;
    p.fill(0.0f);
    const TileCover cover = row.cover(column);
    if (cover != TileCover::kEmpty) {
      for (int j = 0; j < p.kPairs; ++j) {
        const float2 wide = widened(s.chunk[c].pair[j]);
        p.pair[j] = narrowed<T>(make_float2(exp_of(wide.x) * per_l, exp_of(wide.y) * per_l));
      }
      if (cover == TileCover::kCut) p.hide(row.visible(column), 0.0f);
    }
    if constexpr (kDrops) {
      if (rows.kept_p != nullptr) p.store(rows.kept_p, column, row.row_stride());
      for (int j = 0; j < p.kPairs; ++j) {
        const float2 wide = widened(p.pair[j]);
        p.pair[j] = kept.of[c % 2].dropped(
            narrowed<T>(make_float2(keep_scale * wide.x, keep_scale * wide.y)), j);
      }
    }
    p.store(rows.dropped_p, column, row.row_stride());
  }
}

/// scores [heads, seqlen_q, row_stride] becomes the P of line 3; `kept_p`, unless null, takes that
/// of line 2 where line 3 drops, as a training step keeps it. lse [heads, seqlen_q].
template <class T, int kLanes, int kChunks, bool kDrops>
__global__ void __launch_bounds__(kWarpLanes* kMostTeamWarps, 2)
    masked_softmax_dropout(ScoreShape shape, RowTeams teams, T* scores, T* kept_p, float* lse) {
  const TeamRow<kLanes> row(shape, teams);
  T* const s_row = scores + row.offset();
  const ProbabilityRows<T> p_rows = {kept_p == nullptr ? nullptr : kept_p + row.offset(), s_row};
  RowChunks<T, kChunks> s;
  s.load(row, s_row, 0, -INFINITY);
  SoftmaxSums own = sums_of_warp(row, s, 0);
  for (int segment = 1; segment < row.segments(); ++segment) {
    s.load(row, s_row, segment, -INFINITY);
    own = merged(own, sums_of_warp(row, s, segment));
  }
  const SoftmaxSums sums = sums_of_team(row, own);  // line 1
  if (row.leads()) lse[row.index()] = row.sees_any() ? sums.m + logf(sums.l) : -INFINITY;
  for (int segment = row.segments() - 1; segment >= 0; --segment) {
    if (segment + 1 < row.segments()) s.load(row, s_row, segment, -INFINITY);
    write_probabilities<kDrops>(row, s, segment, sums, p_rows);  // lines 2, 3
  }
}

template <class T>
void enqueue_masked_softmax(const ScoreShape& shape, T* scores, T* kept_p, float* lse,
                            cudaStream_t stream) {
  with_row_teams<T>(shape, [&](auto lanes, auto chunks, auto drops, const RowTeams& teams) {
    const unsigned blocks = static_cast<unsigned>(shape.heads) *
                            static_cast<unsigned>(teams.blocks_per_head);
    masked_softmax_dropout<T, lanes(), chunks(), drops()>
        <<<blocks, teams.threads, 0, stream>>>(shape, teams, scores, kept_p, lse);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace sparkbench
