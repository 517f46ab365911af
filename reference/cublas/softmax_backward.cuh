// The gradient of masked_softmax.cuh over the rows of dP in GPU memory, in place: dP becomes dS.
//   1  dp = keep_scale * dp, 0 if dropped
//   2  delta = sum of p * dp over the visible columns
//   3  ds = round(p * (dp - delta)), 0 if masked
// All arithmetic is in fp32. The kernel recomputes the dropout mask: that is cheaper than reading
// it.
#pragma once

#include <type_traits>

#include "reference/cublas/dropout_bits.cuh"

namespace sparkbench {

/// This lane's P and dP of a segment. Dropped elements of dP are already 0.
template <class T, int kChunks, bool kDrops>
class GradientChunks {
 public:
  template <bool kIsWhole, class Row>
  __device__ __forceinline__ void load(const Row& row, const T* p, const T* dp, int segment) {
    p_.template load<kIsWhole>(row, p, segment, 0.0f);
    dp_.template load<kIsWhole>(row, dp, segment, 0.0f);
    KeptRow<kChunks, kDrops> kept;
    kept.template draw<kIsWhole>(row, segment);
    p_.template hide<kIsWhole>(row, segment, 0.0f);
    dp_.template hide<kIsWhole>(row, segment, 0.0f);
    if constexpr (kDrops) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        auto& pairs = dp_.chunk[c].pair;
        for (int j = 0; j < ScoreChunk<T>::kPairs; ++j) pairs[j] = kept.of(c).dropped(pairs[j], j);
      }
    }
  }

  /// Line 2: this lane's partial sum.
  __device__ __forceinline__ float partial_delta(float keep_scale) const {
    float delta = 0.0f;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      for (int j = 0; j < ScoreChunk<T>::kPairs; ++j) {
        const float2 p = widened(p_.chunk[c].pair[j]), dp = scaled(c, j, keep_scale);
        delta += p.x * dp.x + p.y * dp.y;
      }
    }
    return delta;
  }

  /// Line 3.
  template <bool kIsWhole, class Row>
  __device__ __forceinline__ void store_ds(const Row& row, int segment, float delta,
                                           T* ds_row) const {
    const float keep_scale = row.dropout().keep_scale;
    const auto make = [&](int c) {
      ScoreChunk<T> ds;
      for (int j = 0; j < ds.kPairs; ++j) {
        const float2 p = widened(p_.chunk[c].pair[j]), dp = scaled(c, j, keep_scale);
        ds.pair[j] = narrowed<T>(make_float2(p.x * (dp.x - delta), p.y * (dp.y - delta)));
      }
      return ds;
    };
    RowChunks<T, kChunks>::template store<kIsWhole>(row, segment, make,
                                                    [&](int, int column, const ScoreChunk<T>& ds) {
                                                      ds.store(ds_row, column, row.row_stride());
                                                    });
  }

 private:
  /// Line 1.
  __device__ __forceinline__ float2 scaled(int c, int pair, float keep_scale) const {
    const float2 dp = widened(dp_.chunk[c].pair[pair]);
    return kDrops ? make_float2(keep_scale * dp.x, keep_scale * dp.y) : dp;
  }

  RowChunks<T, kChunks> p_, dp_;
};

/// Line 2 for a row: sums the partial sums of its team's lanes.
template <class Row>
__device__ __forceinline__ float sum_of_team(const Row& row, float of_lane) {
  constexpr int kLanes = Row::kLanes;
  const float own = sum_of_lanes<kLanes>(of_lane);
  if (kLanes < kWarpLanes || row.team_warps() == 1) return own;
  __shared__ float of_warp[kMostTeamWarps];
  if (row.lane() == 0) of_warp[row.warp()] = own;
  __syncthreads();
  return sum_of_lanes<kLanes>(row.lane() < row.team_warps() ? of_warp[row.lane()] : 0.0f);
}

/// p [heads, seqlen_q, row_stride], before dropout. dp, of the same shape, becomes dS.
template <class T, class Shape, bool kDrops>
__global__ void __launch_bounds__(Shape::kThreads, kMostTeamWarps* kWarpLanes / Shape::kThreads)
    masked_softmax_dropout_backward(ScoreShape shape, RowTeams teams, const T* p, T* dp) {
  const typename Shape::Row row(shape, teams);
  const T* const p_row = p + row.offset();
  T* const dp_row = dp + row.offset();
  const float keep_scale = row.dropout().keep_scale;
  GradientChunks<T, Shape::kChunks, kDrops> chunks;
  const auto with_segment = [&](int segment, auto visit) {
    with_cover<kDrops, Shape::kChunks>(row, segment, visit);
  };
  float own = 0.0f;
  for (int segment = 0; segment < row.segments(); ++segment) {
    with_segment(segment, [&](auto is_whole) {
      chunks.template load<decltype(is_whole)::value>(row, p_row, dp_row, segment);
      own += chunks.partial_delta(keep_scale);
    });
  }
  const float delta = sum_of_team(row, own);
  for (int segment = row.segments() - 1; segment >= 0; --segment) {
    if (segment + 1 < row.segments()) {
      chunks.template load<false>(row, p_row, dp_row, segment);
    }
    with_segment(segment, [&](auto is_whole) {
      chunks.template store_ds<decltype(is_whole)::value>(row, segment, delta, dp_row);
    });
  }
}

/// The shape for code generation. A thread may have 128 registers in a block of any size, so shapes
/// that differ only in block size share their code.
template <class T, class Shape>
using GradientShape =
    std::conditional_t<Shape::kLanes == kWarpLanes && Shape::kChunks == kMostChunks<T>,
                       typename Shape::WithMostThreads, Shape>;

template <class T>
void enqueue_masked_softmax_backward(const ScoreShape& shape, const T* p, T* dp,
                                     cudaStream_t stream) {
  with_row_teams<T>(shape, TeamWishes(), [&](auto teams_shape, auto drops, const RowTeams& teams) {
    const unsigned blocks =
        static_cast<unsigned>(shape.heads) * static_cast<unsigned>(teams.blocks_per_head);
    using Shape = GradientShape<T, decltype(teams_shape)>;
    masked_softmax_dropout_backward<T, Shape, drops()>
        <<<blocks, teams.threads, 0, stream>>>(shape, teams, p, dp);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace sparkbench
