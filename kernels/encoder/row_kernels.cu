#include "kernels/encoder/row_kernels.h"

#include <algorithm>
#include <type_traits>

#include "kernels/ceil_divide.h"
#include "kernels/encoder/activation.h"
#include "kernels/encoder/row_vectors.cuh"
#include "kernels/machine/cuda_check.h"
#include "kernels/round_up.h"

namespace sparkbench {
namespace {

constexpr int kElementThreads = 128;

int vectors_of(RowExtents extents) { return extents.columns / kVector; }

/// Threads over the columns, a group of rows each.
dim3 element_grid(RowExtents extents) {
  return dim3(static_cast<unsigned>(ceil_divide(extents.rows, kGroupRows)),
              static_cast<unsigned>(ceil_divide(vectors_of(extents), kElementThreads)));
}

struct ElementPlace {
  int first_row, column;
};
__device__ __forceinline__ ElementPlace element_place() {
  return {static_cast<int>(blockIdx.x) * kGroupRows,
          static_cast<int>(blockIdx.y * kElementThreads + threadIdx.x) * kVector};
}

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

__global__ void __launch_bounds__(kElementThreads)
    add_rows_kernel(const AddRows tensors, const RowExtents extents) {
  const auto [first_row, column] = element_place();
  const GroupDropout<kGroupRows> dropout(tensors.dropout, tensors.site, first_row, column);
  const bool is_inside = column < extents.columns;
  const Floats bias = is_inside && tensors.bias != nullptr ? load(tensors.bias + column) : zeros();
  Floats x[kGroupRows], residual[kGroupRows];
#pragma unroll
  for (int i = 0; i < kGroupRows; ++i) {
    x[i] = residual[i] = zeros();
    if (!is_inside || first_row + i >= extents.rows) continue;
    const std::size_t place = element(extents, first_row + i, column);
    x[i] = load(tensors.x + place);
    if (tensors.residual != nullptr) residual[i] = load(tensors.residual + place);
  }
#pragma unroll
  for (int i = 0; i < kGroupRows; ++i) {
    const std::uint32_t dropped = dropout.of_row(i, column);
    if (!is_inside || first_row + i >= extents.rows) continue;
    store(tensors.out + element(extents, first_row + i, column),
          added(x[i], bias, residual[i], dropped, scale_of(tensors.dropout)));
  }
}

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

/// Mean, and 1 / sqrt(variance + epsilon), of each row in two passes over registers. Threads beyond
/// the last column have zeros, and count nothing.
template <int kRows>
struct RowStatistics {
  float mean[kRows], rstd[kRows];

  __device__ __forceinline__ RowStatistics(const Floats (&rows)[kRows], RowExtents extents,
                                           bool is_inside, BlockSums<kRows>& sums) {
    const float share = 1.0f / static_cast<float>(extents.columns);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      mean[i] = 0.0f;
#pragma unroll
      for (int j = 0; j < kVector; ++j) mean[i] += rows[i].at[j];
    }
    sums.sum(mean, 0);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      mean[i] *= share;
      rstd[i] = 0.0f;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const float off = is_inside ? rows[i].at[j] - mean[i] : 0.0f;
        rstd[i] += off * off;
      }
    }
    sums.sum(rstd, 1);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      rstd[i] = rsqrtf(rstd[i] * share + static_cast<float>(kLayerNormEpsilon));
    }
  }
};

/// A block has kRows rows, a thread eight columns of each.
template <int kRows, int kMostThreads>
__global__ void __launch_bounds__(kMostThreads)
    add_norm_kernel(const AddNorm tensors, const RowExtents extents) {
  __shared__ BlockSums<kRows> sums;
  const AddRows& add = tensors.add;
  const int first_row = static_cast<int>(blockIdx.x) * kRows;
  const int column = static_cast<int>(threadIdx.x) * kVector;
  const bool is_inside = column < extents.columns;
  const GroupDropout<kRows> dropout(add.dropout, add.site, first_row, column);
  const Floats bias = is_inside && add.bias != nullptr ? load(add.bias + column) : zeros();
  Floats sum[kRows], residual[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    sum[i] = residual[i] = zeros();
    if (!is_inside || first_row + i >= extents.rows) continue;
    const std::size_t place = element(extents, first_row + i, column);
    sum[i] = load(add.x + place);
    if (add.residual != nullptr) residual[i] = load(add.residual + place);
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const std::uint32_t dropped = dropout.of_row(i, column);
    sum[i] = added(sum[i], bias, residual[i], dropped, scale_of(add.dropout));
    if (is_inside && add.out != nullptr && first_row + i < extents.rows) {
      store(add.out + element(extents, first_row + i, column), sum[i]);
    }
  }
  const RowStatistics<kRows> statistics(sum, extents, is_inside, sums);
  if (!is_inside) return;
  const Floats gamma = load(tensors.gamma + column), beta = load(tensors.beta + column);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (first_row + i >= extents.rows) break;
    Floats norm;
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const float hat = (sum[i].at[j] - statistics.mean[i]) * statistics.rstd[i];
      norm.at[j] = hat * gamma.at[j] + beta.at[j];
    }
    store(tensors.norm + element(extents, first_row + i, column), norm);
  }
}

constexpr int kNormSums = 3;  // of gamma, beta and the bias

/// Blocks take groups of rows in turns and keep the sums of their columns.
template <int kRows, int kMostThreads>
__global__ void __launch_bounds__(kMostThreads)
    norm_backward_kernel(const NormBackward tensors, const RowExtents extents) {
  __shared__ BlockSums<kRows> sums;
  const int column = static_cast<int>(threadIdx.x) * kVector;
  const bool is_inside = column < extents.columns;
  const Floats gamma = is_inside ? load(tensors.gamma + column) : zeros();
  Floats of_column[kNormSums] = {zeros(), zeros(), zeros()};
  const float share = 1.0f / static_cast<float>(extents.columns);
  for (int first_row = static_cast<int>(blockIdx.x) * kRows; first_row < extents.rows;
       first_row += static_cast<int>(gridDim.x) * kRows) {
    Floats d_norm[kRows], hat[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      d_norm[i] = hat[i] = zeros();
      if (!is_inside || first_row + i >= extents.rows) continue;
      const std::size_t place = element(extents, first_row + i, column);
      d_norm[i] = load(tensors.d_norm + place);
      hat[i] = load(tensors.z + place);
    }
    const RowStatistics<kRows> statistics(hat, extents, is_inside, sums);
    float of_one[kRows], of_hat[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      of_one[i] = of_hat[i] = 0.0f;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        hat[i].at[j] = (hat[i].at[j] - statistics.mean[i]) * statistics.rstd[i];
        of_column[0].at[j] += d_norm[i].at[j] * hat[i].at[j];
        of_column[1].at[j] += d_norm[i].at[j];
        d_norm[i].at[j] *= gamma.at[j];
        of_one[i] += d_norm[i].at[j];
        of_hat[i] += d_norm[i].at[j] * hat[i].at[j];
      }
    }
    if (tensors.d_z == nullptr) continue;
    sums.sum(of_one, 0);
    sums.sum(of_hat, 1);
    const GroupDropout<kRows> dropout(tensors.dropout, tensors.site, first_row, column);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const std::uint32_t dropped = dropout.of_row(i, column);
      if (!is_inside || first_row + i >= extents.rows) continue;
      const std::size_t place = element(extents, first_row + i, column);
      const Floats beside = tensors.beside != nullptr ? load(tensors.beside + place) : zeros();
      Floats d_z;
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        d_z.at[j] = statistics.rstd[i] *
                        (d_norm[i].at[j] - share * of_one[i] - hat[i].at[j] * (share * of_hat[i])) +
                    beside.at[j];
      }
      store(tensors.d_z + place, d_z);
      const Floats branch = drop(d_z, dropped, scale_of(tensors.dropout));
      if (tensors.d_branch != nullptr) store(tensors.d_branch + place, branch);
#pragma unroll
      for (int j = 0; j < kVector; ++j) of_column[2].at[j] += branch.at[j];
    }
  }
  if (!is_inside || tensors.d_gamma == nullptr) return;
  const int kinds = tensors.sums_branch ? kNormSums : kNormSums - 1;
  for (int kind = 0; kind < kinds; ++kind) {
    float* const to =
        tensors.scratch + (static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(kinds) +
                           static_cast<std::size_t>(kind)) *
                              static_cast<std::size_t>(extents.columns);
#pragma unroll
    for (int j = 0; j < kVector; ++j) to[column + j] = of_column[kind].at[j];
  }
}

constexpr int kSumColumns = 32, kSumRows = 8;

/// sums[j] = the sum over parts of partial[part, j].
__global__ void __launch_bounds__(kSumColumns* kSumRows)
    sum_parts_kernel(const float* partial, int parts, int columns, Half* sums) {
  __shared__ float of_rows[kSumRows][kSumColumns];
  const int column = static_cast<int>(blockIdx.x) * kSumColumns + static_cast<int>(threadIdx.x);
  float sum = 0.0f;
  if (column < columns) {
#pragma unroll 4
    for (int part = static_cast<int>(threadIdx.y); part < parts; part += kSumRows) {
      sum += partial[static_cast<std::size_t>(part) * static_cast<std::size_t>(columns) +
                     static_cast<std::size_t>(column)];
    }
  }
  of_rows[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int row = 1; row < kSumRows; ++row) sum += of_rows[row][threadIdx.x];
  sums[column].bits = __half_as_ushort(__float2half_rn(sum));
}

void sum_parts(const float* partial, int parts, int columns, Half* sums, cudaStream_t stream) {
  sum_parts_kernel<<<static_cast<unsigned>(ceil_divide(columns, kSumColumns)),
                     dim3(kSumColumns, kSumRows), 0, stream>>>(partial, parts, columns, sums);
  CUDA_CHECK(cudaGetLastError());
}

/// How many blocks share the rows of a sum over them: as many whatever the GPU, so that the sums
/// have one order.
constexpr int kMostParts = 512;
constexpr int kRowsOfPart = 64;  // at least, of column_sums()

int norm_parts(RowExtents extents) {
  return std::min(kMostParts, ceil_divide(extents.rows, kGroupRows));
}
int column_parts(RowExtents extents) {
  return std::min(kMostParts / 4, ceil_divide(extents.rows, kRowsOfPart));
}

__global__ void __launch_bounds__(kElementThreads)
    column_sums_kernel(const Half* x, float* partial, const RowExtents extents) {
  const int column = static_cast<int>(blockIdx.y * kElementThreads + threadIdx.x) * kVector;
  if (column >= extents.columns) return;
  Floats sum = zeros();
#pragma unroll 8
  for (int row = static_cast<int>(blockIdx.x); row < extents.rows;
       row += static_cast<int>(gridDim.x)) {
    const Floats values = load(x + element(extents, row, column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum.at[j] += values.at[j];
  }
  float* const to =
      partial + static_cast<std::size_t>(blockIdx.x) * static_cast<std::size_t>(extents.columns);
#pragma unroll
  for (int j = 0; j < kVector; ++j) to[column + j] = sum.at[j];
}

/// out = f(a, b) of each element; b may be null.
template <class F>
__global__ void __launch_bounds__(kElementThreads)
    map_kernel(const Half* a, const Half* b, Half* out, const RowExtents extents, const F f) {
  const auto [first_row, column] = element_place();
  if (column >= extents.columns) return;
  Floats left[kGroupRows], right[kGroupRows];
#pragma unroll
  for (int i = 0; i < kGroupRows; ++i) {
    if (first_row + i >= extents.rows) break;
    const std::size_t place = element(extents, first_row + i, column);
    left[i] = load(a + place);
    right[i] = b != nullptr ? load(b + place) : zeros();
  }
#pragma unroll
  for (int i = 0; i < kGroupRows; ++i) {
    if (first_row + i >= extents.rows) break;
    Floats result;
#pragma unroll
    for (int j = 0; j < kVector; ++j) result.at[j] = f(left[i].at[j], right[i].at[j]);
    store(out + element(extents, first_row + i, column), result);
  }
}

template <Activation kActivation>
struct Activate {
  __device__ float operator()(float u, float /*none*/) const {
    return activation_of(kActivation, u);
  }
};
template <Activation kActivation>
struct ActivateBackward {
  __device__ float operator()(float d_g, float u) const {
    return d_g * derivative_of(kActivation, u);
  }
};

template <class F>
void map_rows(const Half* a, const Half* b, Half* out, RowExtents extents, const F& f,
              cudaStream_t stream) {
  map_kernel<<<element_grid(extents), kElementThreads, 0, stream>>>(a, b, out, extents, f);
  CUDA_CHECK(cudaGetLastError());
}

template <template <Activation> class F>
void map_activation(Activation activation, const Half* a, const Half* b, Half* out,
                    RowExtents extents, cudaStream_t stream) {
  switch (activation) {
    case Activation::kGeluTanh:
      return map_rows(a, b, out, extents, F<Activation::kGeluTanh>{}, stream);
    case Activation::kGeluErf:
      return map_rows(a, b, out, extents, F<Activation::kGeluErf>{}, stream);
    case Activation::kRelu:
      return map_rows(a, b, out, extents, F<Activation::kRelu>{}, stream);
  }
}

template <int kMost>
using Threads = std::integral_constant<int, kMost>;

/// Threads of a block that has whole rows.
int row_threads(RowExtents extents) { return round_up(vectors_of(extents), kWarp); }

/// Launches over groups of rows where a block of at most 512 threads has their registers, else over
/// single ones. A kernel for few threads has more registers.
template <class Launch>
void launch_for_columns(RowExtents extents, const Launch& launch) {
  const int threads = row_threads(extents);
  if (threads <= 256) return launch(std::integral_constant<int, kGroupRows>{}, Threads<256>{});
  if (threads <= 512) return launch(std::integral_constant<int, kGroupRows>{}, Threads<512>{});
  launch(std::integral_constant<int, 1>{}, Threads<1024>{});
}

}  // namespace

void add_rows(const AddRows& tensors, RowExtents extents, cudaStream_t stream) {
  add_rows_kernel<<<element_grid(extents), kElementThreads, 0, stream>>>(tensors, extents);
  CUDA_CHECK(cudaGetLastError());
}

void add_norm(const AddNorm& tensors, RowExtents extents, cudaStream_t stream) {
  const auto threads = static_cast<unsigned>(row_threads(extents));
  launch_for_columns(extents, [&](auto rows, auto most_threads) {
    const auto blocks = static_cast<unsigned>(ceil_divide(extents.rows, int{rows}));
    add_norm_kernel<rows, most_threads><<<blocks, threads, 0, stream>>>(tensors, extents);
  });
  CUDA_CHECK(cudaGetLastError());
}

std::size_t norm_scratch_bytes(RowExtents extents) {
  return static_cast<std::size_t>(norm_parts(extents)) * kNormSums *
         static_cast<std::size_t>(extents.columns) * sizeof(float);
}

void norm_backward(const NormBackward& tensors, RowExtents extents, cudaStream_t stream) {
  const auto threads = static_cast<unsigned>(row_threads(extents));
  const int parts = norm_parts(extents);
  const auto blocks = static_cast<unsigned>(parts);
  launch_for_columns(extents, [&](auto rows, auto most_threads) {
    norm_backward_kernel<rows, most_threads><<<blocks, threads, 0, stream>>>(tensors, extents);
  });
  CUDA_CHECK(cudaGetLastError());
  if (tensors.d_gamma == nullptr) return;
  const int kinds = tensors.sums_branch ? kNormSums : kNormSums - 1;
  sum_parts(tensors.scratch, parts, kinds * extents.columns, tensors.d_gamma, stream);
}

std::size_t column_scratch_bytes(RowExtents extents) {
  return static_cast<std::size_t>(column_parts(extents)) *
         static_cast<std::size_t>(extents.columns) * sizeof(float);
}

void column_sums(const Half* x, Half* sums, float* scratch, RowExtents extents,
                 cudaStream_t stream) {
  const int parts = column_parts(extents);
  const dim3 grid(static_cast<unsigned>(parts),
                  static_cast<unsigned>(ceil_divide(vectors_of(extents), kElementThreads)));
  column_sums_kernel<<<grid, kElementThreads, 0, stream>>>(x, scratch, extents);
  CUDA_CHECK(cudaGetLastError());
  sum_parts(scratch, parts, extents.columns, sums, stream);
}

void activate(Activation activation, const Half* u, Half* g, RowExtents extents,
              cudaStream_t stream) {
  map_activation<Activate>(activation, u, nullptr, g, extents, stream);
}

void activate_backward(Activation activation, const Half* d_g, const Half* u, Half* d_u,
                       RowExtents extents, cudaStream_t stream) {
  map_activation<ActivateBackward>(activation, d_g, u, d_u, extents, stream);
}

}  // namespace sparkbench
