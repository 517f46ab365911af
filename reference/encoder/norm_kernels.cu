#include <algorithm>
#include <type_traits>

#include "kernels/base/round_up.h"
#include "reference/encoder/row_kernels.h"
#include "reference/encoder/row_moments.h"
#include "reference/encoder/row_sums.cuh"
#include "reference/encoder/row_vectors.cuh"

namespace sparkbench {
namespace {

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

/// Sums over a block of at most 1024 threads, which each thread has.
struct BlockSums {
  float of_warp[2][kWarp];

  /// `turn` alternates between calls, so that one barrier a call suffices.
  __device__ __forceinline__ float sum(float value, int turn) {
    const auto warps = static_cast<int>(blockDim.x) / kWarp;
    value = warp_sum(value);
    if (threadIdx.x % kWarp == 0) of_warp[turn][threadIdx.x / kWarp] = value;
    __syncthreads();
    value = 0.0f;
    for (int w = 0; w < warps; ++w) value += of_warp[turn][w];
    return value;
  }
};

/// A block has a row, a thread eight of its columns: many blocks hide each other's barriers. Four
/// rows a block, which share the bits of dropout, were slower on an H200.
template <int kMostThreads>
__global__ void __launch_bounds__(kMostThreads)
    add_norm_kernel(const AddNorm tensors, const RowExtents extents) {
  __shared__ BlockSums sums;
  const AddRows& add = tensors.add;
  const int row = static_cast<int>(blockIdx.x);
  const int column = static_cast<int>(threadIdx.x) * kVector;
  const bool is_inside = column < extents.columns;
  const std::size_t place = element(extents, row, column);
  Floats z = zeros();
  if (is_inside) {
    const Floats x = load(add.x + place);
    const Floats bias = add.bias != nullptr ? load(add.bias + column) : zeros();
    const Floats residual = add.residual != nullptr ? load(add.residual + place) : zeros();
    z = added(x, bias, residual, dropped_of_row(add.dropout, add.site, row, column),
              scale_of(add.dropout));
    if (add.out != nullptr) store(add.out + place, z);
  }
  const float share = 1.0f / static_cast<float>(extents.columns);
  float sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int j = 0; j < kVector; ++j) sum += z.at[j];
  const float mean = sums.sum(sum, 0) * share;
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    z.at[j] -= mean;
    squares += is_inside ? z.at[j] * z.at[j] : 0.0f;
  }
  const float variance = sums.sum(squares, 1) * share;
  if (!is_inside) return;
  const float rstd = rsqrtf(variance + static_cast<float>(kLayerNormEpsilon));
  const Floats gamma = load(tensors.gamma + column), beta = load(tensors.beta + column);
#pragma unroll
  for (int j = 0; j < kVector; ++j) z.at[j] = z.at[j] * rstd * gamma.at[j] + beta.at[j];
  store(tensors.norm + place, z);
}

constexpr int kNormSums = 3;  // of gamma, beta and the bias

/// On an SM: with 4 it spills, with 2 too few hide each other's barriers; both were slower on an
/// H200.
constexpr int kNormBlocks = 3;

/// Eight columns of a row of norm_backward().
struct NormRow {
  uint4 d_norm = {0, 0, 0, 0}, z = {0, 0, 0, 0};
};
__device__ __forceinline__ NormRow load_norm_row(const NormBackward& tensors, RowExtents extents,
                                                 int row, int column) {
  NormRow loaded;
  if (row >= extents.rows || column >= extents.columns) return loaded;
  const std::size_t place = element(extents, row, column);
  loaded.d_norm = load_raw(tensors.d_norm + place);
  loaded.z = load_raw(tensors.z + place);
  return loaded;
}

constexpr int kWarpColumns = kWarp * kVector;

/// RowMoments of a warp's columns, each thread having eight. Columns past the row's end have d_norm
/// 0.
__device__ __forceinline__ RowMoments moments_of_warp(const Floats& z, const Floats& d_norm,
                                                      const Floats& gamma, int column,
                                                      int columns) {
  const int first = column / kWarpColumns * kWarpColumns;
  const int count = min(kWarpColumns, columns - first);
  RowMoments of{0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    of.mean += z.at[j];
    of.d += d_norm.at[j] * gamma.at[j];
  }
  of.mean = warp_sum(of.mean) / static_cast<float>(count);
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const float off = column < columns ? z.at[j] - of.mean : 0.0f;
    of.squares += off * off;
    of.d_off += d_norm.at[j] * gamma.at[j] * off;
  }
  of.squares = warp_sum(of.squares);
  of.d = warp_sum(of.d);
  of.d_off = warp_sum(of.d_off);
  return of;
}

/// Blocks take rows in turns and keep the sums of their columns. All sums of a row come by one
/// barrier, since each warp's are of what is off its own mean (row_moments.h).
template <int kMostThreads>
__global__ void __launch_bounds__(kMostThreads, kMostThreads == 256 ? kNormBlocks : 1)
    norm_backward_kernel(const NormBackward tensors, const RowExtents extents) {
  __shared__ RowMoments of_warp[2][kWarp];  // alternating, so that one barrier a row suffices
  const int column = static_cast<int>(threadIdx.x) * kVector;
  const bool is_inside = column < extents.columns;
  const Floats gamma = is_inside ? load(tensors.gamma + column) : zeros();
  Floats of_column[kNormSums] = {zeros(), zeros(), zeros()};
  const float share = 1.0f / static_cast<float>(extents.columns);
  const auto first = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
  NormRow next = load_norm_row(tensors, extents, first, column);
  int turn = 0;
  for (int row = first; row < extents.rows; row += step) {
    const Floats d_norm = widened(next.d_norm);
    const Floats z = widened(next.z);
    next = load_norm_row(tensors, extents, row + step, column);
    const std::size_t place = element(extents, row, column);
    const uint4 raw_beside = is_inside && tensors.beside != nullptr
                                 ? load_raw(tensors.beside + place)
                                 : make_uint4(0, 0, 0, 0);
    RowMoments* const parts = of_warp[turn++ & 1];
    const RowMoments part = moments_of_warp(z, d_norm, gamma, column, extents.columns);
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = part;
    __syncthreads();
    if (!is_inside) continue;
    const RowMoments of_row = joined(parts, kWarpColumns, extents.columns);
    const float rstd = rsqrtf(of_row.squares * share + static_cast<float>(kLayerNormEpsilon));
    const float of_one = of_row.d * share;
    const float of_hat = of_row.d_off * rstd * share;
    const Floats beside = widened(raw_beside);
    Floats d_z;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const float hat = (z.at[j] - of_row.mean) * rstd;
      of_column[0].at[j] += d_norm.at[j] * hat;
      of_column[1].at[j] += d_norm.at[j];
      d_z.at[j] = rstd * (d_norm.at[j] * gamma.at[j] - of_one - hat * of_hat) + beside.at[j];
    }
    if (tensors.d_z == nullptr) continue;
    store(tensors.d_z + place, d_z);
    const Floats branch = drop(d_z, dropped_of_row(tensors.dropout, tensors.site, row, column),
                               scale_of(tensors.dropout));
    if (tensors.d_branch != nullptr) store(tensors.d_branch + place, branch);
#pragma unroll
    for (int j = 0; j < kVector; ++j) of_column[2].at[j] += branch.at[j];
  }
  if (!is_inside || tensors.d_gamma == nullptr) return;
  const int kinds = tensors.sums_branch ? kNormSums : kNormSums - 1;
  float* const to = tensors.scratch + static_cast<std::size_t>(first * kinds) *
                                          static_cast<std::size_t>(extents.columns);
#pragma unroll
  for (int kind = 0; kind < kNormSums; ++kind) {
    if (kind == kinds) break;
    store_floats(to + element(extents, kind, column), of_column[kind]);
  }
}

/// How many blocks share the rows, whatever the GPU, so that sums have one order: three on each of
/// an H200's 132 SMs.
constexpr int kMostNormParts = 396;

int norm_parts(RowExtents extents) { return std::min(kMostNormParts, extents.rows); }

template <int kMost>
using Threads = std::integral_constant<int, kMost>;

/// A block has whole rows; a kernel for few threads has more registers.
template <class Launch>
void launch_rows(RowExtents extents, const Launch& launch) {
  const int threads = round_up(vectors_of(extents), kWarp);
  if (threads <= 256) return launch(static_cast<unsigned>(threads), Threads<256>{});
  if (threads <= 512) return launch(static_cast<unsigned>(threads), Threads<512>{});
  launch(static_cast<unsigned>(threads), Threads<1024>{});
}

}  // namespace

void add_norm(const AddNorm& tensors, RowExtents extents, cudaStream_t stream) {
  launch_rows(extents, [&](unsigned threads, auto most_threads) {
    add_norm_kernel<most_threads>
        <<<static_cast<unsigned>(extents.rows), threads, 0, stream>>>(tensors, extents);
  });
  CUDA_CHECK(cudaGetLastError());
}

std::size_t norm_scratch_bytes(RowExtents extents) {
  return static_cast<std::size_t>(norm_parts(extents)) * kNormSums *
         static_cast<std::size_t>(extents.columns) * sizeof(float);
}

void norm_backward(const NormBackward& tensors, RowExtents extents, cudaStream_t stream) {
  const int parts = norm_parts(extents);
  launch_rows(extents, [&](unsigned threads, auto most_threads) {
    norm_backward_kernel<most_threads>
        <<<static_cast<unsigned>(parts), threads, 0, stream>>>(tensors, extents);
  });
  CUDA_CHECK(cudaGetLastError());
  if (tensors.d_gamma == nullptr) return;
  const int kinds = tensors.sums_branch ? kNormSums : kNormSums - 1;
  sum_parts(tensors.scratch, parts, kinds * extents.columns, tensors.d_gamma, stream);
}

}  // namespace sparkbench
