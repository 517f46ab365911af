// Softmax, mask and dropout over the rows of S in GPU memory, in place: S becomes P.
//   1  m = max of the visible s,  l = sum of exp(s - m),  lse = m + log(l)
//   2  p = round(exp(s - m) / l), 0 if masked
//   3  p = round(keep_scale * p), 0 if dropped
// All arithmetic is in fp32. A row without a visible key has p = 0 and lse = -inf.
#pragma once

#include "kernels/machine/gpu.cuh"
#include "kernels/tile/log2e.h"
#include "reference/cublas/dropout_bits.cuh"

namespace sparkbench {

/// exp(s - m). A maximum of -inf is replaced by 0, so that the exponential of a score of -inf is
/// not NaN.
class ExpOf {
 public:
  __device__ __forceinline__ explicit ExpOf(float m)
      : minus_base_(m == -INFINITY ? 0.0f : -kLog2E * m) {}
  __device__ __forceinline__ float operator()(float s) const {
    return GpuMachine().exp2(__fmaf_rn(s, kLog2E, minus_base_));
  }
  /// Makes later calls return exp(s - m) / l.
  __device__ __forceinline__ void divide_by(float l) { minus_base_ -= log2f(l); }

 private:
  float minus_base_;
};

/// Line 1 for some columns.
struct SoftmaxSums {
  float m = -INFINITY, l = 0.0f;
};

__device__ __forceinline__ SoftmaxSums merged(const SoftmaxSums& a, const SoftmaxSums& b) {
  const float m = fmaxf(a.m, b.m);
  const ExpOf exp_of(m);
  return {m, a.l * exp_of(a.m) + b.l * exp_of(b.m)};
}

/// Whether exp(s - m) of line 1 stays in registers for line 2, one fp32 number per column. This
/// halves the exponentials; rows that also draw the dropout mask have no time for the other half.
/// Lanes with more chunks recompute it. Lanes with few chunks have rows of one segment
/// (with_row_teams).
template <class T, class Shape>
inline constexpr bool kKeepsExponentials = sizeof(T) == sizeof(__half) && Shape::kChunks <= 4;

/// The exponentials of this lane's columns, if they are kept.
template <int kChunks, bool kAreKept>
struct Exponentials {
  float2 pair[kAreKept ? kChunks : 1][kChunkColumns / 2];
};

/// Line 1 for a warp's columns of one segment.
template <bool kIsWhole, class T, class Row, int kChunks, bool kAreKept>
__device__ __forceinline__ SoftmaxSums sums_of_warp(const Row& row, const RowChunks<T, kChunks>& s,
                                                    int segment,
                                                    Exponentials<kChunks, kAreKept>& exponentials) {
  auto most = s.chunk[0].pair[0];
#pragma unroll
  for (const auto& chunk : s.chunk) {
    for (const auto& pair : chunk.pair) most = max_of(most, pair);
  }
  const float2 of_lane = widened(most);
  const float m = max_of_lanes<Row::kLanes>(fmaxf(of_lane.x, of_lane.y));
  const ExpOf exp_of(m);
  float l = 0.0f;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    if (!kIsWhole && !row.reaches(row.template first_column<kChunks>(segment, c))) {
      if constexpr (kAreKept) {
        for (float2& e : exponentials.pair[c]) e = make_float2(0.0f, 0.0f);
      }
      continue;
    }
    for (int j = 0; j < s.chunk[c].kPairs; ++j) {
      const float2 wide = widened(s.chunk[c].pair[j]);
      const float2 e = make_float2(exp_of(wide.x), exp_of(wide.y));
      if constexpr (kAreKept) exponentials.pair[c][j] = e;
      l += e.x + e.y;
    }
  }
  return {m, sum_of_lanes<Row::kLanes>(l)};
}

/// Line 1 for a row, from the sums of its team's warps.
template <class Row>
__device__ __forceinline__ SoftmaxSums sums_of_team(const Row& row, const SoftmaxSums& own) {
  constexpr int kLanes = Row::kLanes;
  if (kLanes < kWarpLanes || row.team_warps() == 1) return own;
  __shared__ SoftmaxSums of_warp[kMostTeamWarps];
  if (row.lane() == 0) of_warp[row.warp()] = own;
  __syncthreads();
  SoftmaxSums sums;
  if (row.lane() < row.team_warps()) sums = of_warp[row.lane()];
  const float m = max_of_lanes<kLanes>(sums.m);
  return {m, sum_of_lanes<kLanes>(sums.l * ExpOf(m)(sums.m))};
}

/// A thread's factors for lines 2 and 3, from the sums of its row and of its warp.
template <class T, bool kKeeps>
class ProbabilityFactors {
 public:
  __device__ __forceinline__ ProbabilityFactors(const SoftmaxSums& of_row,
                                                const SoftmaxSums& of_warp, float keep_scale)
      : exp_of_(of_row.m), keep_scale_(keep_scale) {
    factor_ = of_row.l > 0.0f ? 1.0f / of_row.l : 0.0f;
    if (kKeeps) factor_ *= exp_of_(of_warp.m);
    if (kDividesInExponent) exp_of_.divide_by(of_row.l);
  }

  /// Line 2, from scores.
  __device__ __forceinline__ ScoreChunk<T> probabilities(const ScoreChunk<T>& s) const {
    ScoreChunk<T> p;
    for (int j = 0; j < p.kPairs; ++j) {
      const float2 wide = widened(s.pair[j]);
      p.pair[j] = narrowed<T>(make_float2(probability(wide.x), probability(wide.y)));
    }
    return p;
  }
  /// Line 2, from kept exponentials.
  __device__ __forceinline__ ScoreChunk<T> probabilities(
      const float2 (&kept)[kChunkColumns / 2]) const {
    ScoreChunk<T> p;
    for (int j = 0; j < p.kPairs; ++j) {
      p.pair[j] = narrowed<T>(make_float2(kept[j].x * factor_, kept[j].y * factor_));
    }
    return p;
  }
  /// Line 3.
  __device__ __forceinline__ ScoreChunk<T> dropped(ScoreChunk<T> p, const KeptColumns& kept) const {
    for (int j = 0; j < p.kPairs; ++j) {
      const float2 wide = widened(p.pair[j]);
      p.pair[j] =
          kept.dropped(narrowed<T>(make_float2(keep_scale_ * wide.x, keep_scale_ * wide.y)), j);
    }
    return p;
  }

 private:
  /// Saves a multiplication. The error, 2^-24 of m + log(l), is far below the fp16 error of s
  /// itself.
  static constexpr bool kDividesInExponent = sizeof(T) == sizeof(__half);

  __device__ __forceinline__ float probability(float s) const {
    return kDividesInExponent ? exp_of_(s) : exp_of_(s) * factor_;
  }

  ExpOf exp_of_;
  float factor_, keep_scale_;
};

/// Registers for 32 warps per multiprocessor, or for 24 if they also draw masks.
template <class T, class Shape, bool kDrops>
inline constexpr int kSoftmaxBlocks = sizeof(T) > sizeof(__half)
                                          ? 1
                                          : (kDrops ? 768 : 1024) / Shape::kThreads;

/// scores [heads, seqlen_q, row_stride] becomes the P of line 3. `kept_p`, unless null, takes the P
/// of line 2 if line 3 drops: a training step keeps it. lse [heads, seqlen_q] has a head stride of
/// lse_stride.
template <class T, class Shape, bool kDrops>
__global__ void __launch_bounds__(Shape::kThreads, kSoftmaxBlocks<T, Shape, kDrops>)
    masked_softmax_dropout(ScoreShape shape, RowTeams teams, T* scores, T* kept_p, float* lse) {
  using Chunks = RowChunks<T, Shape::kChunks>;
  constexpr bool kKeeps = kKeepsExponentials<T, Shape>;
  const typename Shape::Row row(shape, teams);
  T* const s_row = scores + row.offset();
  Chunks s;
  Exponentials<Shape::kChunks, kKeeps> exponentials;
  KeptRow<Shape::kChunks, kDrops> kept;
  const auto load = [&](auto is_whole, int segment) {
    s.template load<decltype(is_whole)::value>(row, s_row, segment, -INFINITY);
    kept.template draw<decltype(is_whole)::value>(row, segment);
    s.template hide<decltype(is_whole)::value>(row, segment, -INFINITY);
  };
  const auto load_and_sum = [&](int segment) {
    SoftmaxSums sums;
    with_cover<kDrops, Shape::kChunks>(row, segment, [&](auto is_whole) {
      load(is_whole, segment);
      sums = sums_of_warp<decltype(is_whole)::value>(row, s, segment, exponentials);
    });
    return sums;
  };
  SoftmaxSums own = load_and_sum(0);
  if constexpr (!kKeeps) {
    for (int segment = 1; segment < row.segments(); ++segment) {
      own = merged(own, load_and_sum(segment));
    }
  }
  const SoftmaxSums sums = sums_of_team(row, own);  // line 1
  if (row.leads()) lse[row.lse_index()] = row.sees_any() ? sums.m + logf(sums.l) : -INFINITY;
  const ProbabilityFactors<T, kKeeps> factors(sums, own, row.dropout().keep_scale);
  const auto store = [&](int c, int column, ScoreChunk<T> p) {
    if constexpr (kDrops) {
      if (kept_p != nullptr) p.store(kept_p + row.offset(), column, row.row_stride());
      p = factors.dropped(p, kept.of(c));
    }
    p.store(s_row, column, row.row_stride());
  };
  if constexpr (kKeeps) {
    // A hidden column has an exponential of 0, so the loop need not test visibility.
#pragma unroll
    for (int c = 0; c < Shape::kChunks; ++c) {
      const int column = row.lane_column(row.template first_column<Shape::kChunks>(0, c));
      if (row.has(column)) store(c, column, factors.probabilities(exponentials.pair[c]));
    }
  } else {
    const auto probabilities = [&](int c) { return factors.probabilities(s.chunk[c]); };
    for (int segment = row.segments() - 1; segment >= 0; --segment) {
      if (segment + 1 < row.segments()) load(std::false_type(), segment);
      with_cover<kDrops, Shape::kChunks>(row, segment, [&](auto is_whole) {
        Chunks::template store<decltype(is_whole)::value>(row, segment, probabilities,
                                                          store);  // lines 2, 3
      });
    }
  }
}

template <class T>
void enqueue_masked_softmax(const ScoreShape& shape, T* scores, T* kept_p, float* lse,
                            cudaStream_t stream) {
  const bool has_fp16 = sizeof(T) == sizeof(__half);
  const TeamWishes wishes = {has_fp16 ? 2 : 1, has_fp16 && kept_p != nullptr};
  with_row_teams<T>(shape, wishes, [&](auto teams_shape, auto drops, const RowTeams& teams) {
    const unsigned blocks =
        static_cast<unsigned>(shape.heads) * static_cast<unsigned>(teams.blocks_per_head);
    masked_softmax_dropout<T, decltype(teams_shape), drops()>
        <<<blocks, teams.threads, 0, stream>>>(shape, teams, scores, kept_p, lse);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace sparkbench
