#include <algorithm>
#include <type_traits>

#include "kernels/encoder/row_kernels.h"
#include "kernels/encoder/row_sums.cuh"
#include "kernels/encoder/row_vectors.cuh"
#include "kernels/round_up.h"

namespace sparkbench {
namespace {

/// Sums of kCount numbers over a block of at most 1024 threads, each thread having all of them.
template <int kCount>
struct BlockSums {
  float of_warp[2][kCount][kWarp];

  /// `turn` alternates between calls, so that one barrier a call suffices.
  __device__ __forceinline__ void sum(float (&values)[kCount], int turn) {
    const auto lane = static_cast<int>(threadIdx.x) % kWarp;
    const auto warp = static_cast<int>(threadIdx.x) / kWarp;
    const auto warps = static_cast<int>(blockDim.x) / kWarp;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
#pragma unroll
      for (int step = kWarp / 2; step > 0; step /= 2) {
        values[i] += __shfl_xor_sync(kAllLanes, values[i], step);
      }
      if (lane == 0) of_warp[turn & 1][i][warp] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = 0.0f;
      for (int w = 0; w < warps; ++w) values[i] += of_warp[turn & 1][i][w];
    }
  }
};

/// A block has a row, a thread eight of its columns: many blocks hide each other's barriers. Four
/// rows a block, which share the bits of dropout, were slower on an H200.
template <int kMostThreads>
__global__ void __launch_bounds__(kMostThreads)
    add_norm_kernel(const AddNorm tensors, const RowExtents extents) {
  __shared__ BlockSums<1> sums;
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
  float mean[1] = {0.0f}, variance[1] = {0.0f};
#pragma unroll
  for (int j = 0; j < kVector; ++j) mean[0] += z.at[j];
  sums.sum(mean, 0);
  mean[0] *= share;
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    z.at[j] -= mean[0];
    variance[0] += is_inside ? z.at[j] * z.at[j] : 0.0f;
  }
  sums.sum(variance, 1);
  if (!is_inside) return;
  const float rstd = rsqrtf(variance[0] * share + static_cast<float>(kLayerNormEpsilon));
  const Floats gamma = load(tensors.gamma + column), beta = load(tensors.beta + column);
#pragma unroll
  for (int j = 0; j < kVector; ++j) z.at[j] = z.at[j] * rstd * gamma.at[j] + beta.at[j];
  store(tensors.norm + place, z);
}

constexpr int kNormSums = 3;  // of gamma, beta and the bias

/// On an SM: with 4 it spills, with 2 too few hide each other's barriers; both were slower on an
/// H200.
constexpr int kNormBlocks = 3;

/// Eight columns of a row of norm_backward(), and the first element of the row's z.
struct NormRow {
  uint4 d_norm = {0, 0, 0, 0}, z = {0, 0, 0, 0};
  float pivot = 0.0f;
};
__device__ __forceinline__ NormRow load_norm_row(const NormBackward& tensors, RowExtents extents,
                                                 int row, int column) {
  NormRow loaded;
  if (row >= extents.rows || column >= extents.columns) return loaded;
  const std::size_t place = element(extents, row, column);
  loaded.d_norm = load_raw(tensors.d_norm + place);
  loaded.z = load_raw(tensors.z + place);
  loaded.pivot = __half2float(__ushort_as_half(tensors.z[element(extents, row, 0)].bits));
  return loaded;
}

/// Blocks take rows in turns and keep the sums of their columns. All sums of a row come by one
/// barrier, since the statistics are those of z - pivot, the row's first element. Where that lies
/// 100 standard deviations off, the variance loses 1e-3 of itself.
///   mean = sum (z - pivot) / n,  variance = sum (z - pivot)^2 / n - mean^2
template <int kMostThreads>
__global__ void __launch_bounds__(kMostThreads, kMostThreads == 256 ? kNormBlocks : 1)
    norm_backward_kernel(const NormBackward tensors, const RowExtents extents) {
  __shared__ BlockSums<4> sums;
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
    Floats off = widened(next.z);  // from the pivot
    const float pivot = next.pivot;
    next = load_norm_row(tensors, extents, row + step, column);
    const std::size_t place = element(extents, row, column);
    const Floats beside =
        is_inside && tensors.beside != nullptr ? load(tensors.beside + place) : zeros();
    float of_row[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // z, z^2, d_norm gamma, d_norm gamma z
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      off.at[j] = is_inside ? off.at[j] - pivot : 0.0f;
      const float d_hat = d_norm.at[j] * gamma.at[j];
      of_row[0] += off.at[j];
      of_row[1] += off.at[j] * off.at[j];
      of_row[2] += d_hat;
      of_row[3] += d_hat * off.at[j];
    }
    sums.sum(of_row, turn++);
    if (!is_inside) continue;
    const float mean = of_row[0] * share;
    const float variance = fmaxf(of_row[1] * share - mean * mean, 0.0f);
    const float rstd = rsqrtf(variance + static_cast<float>(kLayerNormEpsilon));
    const float of_one = of_row[2] * share;
    const float of_hat = (of_row[3] - mean * of_row[2]) * rstd * share;
    Floats d_z;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const float hat = (off.at[j] - mean) * rstd;
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
