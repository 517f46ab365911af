#include <cuda_fp16.h>

#include "reference/encoder/exact_kernels.h"

#include "kernels/base/ceil_divide.h"
#include "kernels/machine/cuda_check.h"
#include "kernels/strided/pass_dropout.h"
#include "reference/encoder/activation.h"

namespace sparkbench {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ std::size_t index_of(int row, int column, ExactExtents extents) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(extents.columns) +
         static_cast<std::size_t>(column);
}

/// One block per row: calls f(row, column) for each of its columns.
template <class F>
__global__ void __launch_bounds__(kThreads) for_elements(ExactExtents extents, F f) {
  const int row = static_cast<int>(blockIdx.x);
  for (int column = static_cast<int>(threadIdx.x); column < extents.columns; column += kThreads) {
    f(row, column, index_of(row, column, extents));
  }
}

template <class F>
void run_elements(ExactExtents extents, cudaStream_t stream, const F& f) {
  for_elements<<<static_cast<unsigned>(extents.rows), kThreads, 0, stream>>>(extents, f);
  CUDA_CHECK(cudaGetLastError());
}

struct Widen {
  const Half* halves;
  double* values;
  std::size_t count;
  __device__ void operator()(int /*row*/, int /*column*/, std::size_t i) const {
    if (i >= count) return;
    const std::uint32_t bits = halves[i].bits;
    const double sign = (bits & 0x8000u) != 0u ? -1.0 : 1.0;
    const auto exponent = static_cast<int>(bits >> 10 & 31u);
    const double fraction = bits & 0x3ffu;
    if (exponent == 31) {
      values[i] = fraction != 0 ? nan("") : sign * INFINITY;
    } else {
      values[i] = exponent == 0 ? sign * ldexp(fraction, -24)
                                : sign * ldexp(1024 + fraction, exponent - 25);
    }
  }
};

struct Narrow {
  const double* values;
  Half* halves;
  std::size_t count;
  __device__ void operator()(int /*row*/, int /*column*/, std::size_t i) const {
    if (i >= count) return;
    halves[i].bits = __half_as_ushort(__float2half_rn(static_cast<float>(values[i])));
  }
};

struct AddBias {
  double* x;
  const double* bias;
  __device__ void operator()(int /*row*/, int column, std::size_t i) const { x[i] += bias[column]; }
};

struct Drop {
  const double* x;
  double* out;
  ExactDropout by;
  DropoutSite site;
  __device__ void operator()(int row, int column, std::size_t i) const {
    const bool keeps =
        by.dropout.threshold == 0u || layer_keeps(by.dropout, site, static_cast<std::uint32_t>(row),
                                                  static_cast<std::uint32_t>(column));
    out[i] = keeps ? x[i] * by.keep_scale : 0.0;
  }
};

struct Add {
  const double *a, *b;
  double* out;
  __device__ void operator()(int /*row*/, int /*column*/, std::size_t i) const {
    out[i] = a[i] + b[i];
  }
};

struct Activate {
  Activation activation;
  const double* u;
  double* g;
  __device__ void operator()(int /*row*/, int /*column*/, std::size_t i) const {
    g[i] = activation_of(activation, u[i]);
  }
};

struct ActivateBackward {
  Activation activation;
  const double *d_g, *u;
  double* d_u;
  __device__ void operator()(int /*row*/, int /*column*/, std::size_t i) const {
    d_u[i] = d_g[i] * derivative_of(activation, u[i]);
  }
};

template <class Combine>
__device__ double over_block(double value, Combine combine) {
  __shared__ double of_thread[kThreads];
  __syncthreads();
  of_thread[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      of_thread[threadIdx.x] = combine(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    }
  }
  __syncthreads();
  return of_thread[0];
}
__device__ double block_sum(double value) {
  return over_block(value, [](double a, double b) { return a + b; });
}
__device__ double block_max(double value) {
  return over_block(value, [](double a, double b) { return a > b ? a : b; });
}

/// The sum of f(column) over a row.
template <class F>
__device__ double row_sum(int columns, F f) {
  double sum = 0;
  for (int column = static_cast<int>(threadIdx.x); column < columns; column += kThreads) {
    sum += f(column);
  }
  return block_sum(sum);
}

struct Statistics {
  double mean, rstd;
};
__device__ Statistics statistics_of(const double* z, int columns) {
  const double mean = row_sum(columns, [&](int j) { return z[j]; }) / columns;
  const double variance =
      row_sum(columns, [&](int j) { return (z[j] - mean) * (z[j] - mean); }) / columns;
  return {mean, 1 / sqrt(variance + kLayerNormEpsilon)};
}

__global__ void __launch_bounds__(kThreads)
    norm_kernel(const double* z, const double* gamma, const double* beta, double* norm,
                ExactExtents extents) {
  const std::size_t row = index_of(static_cast<int>(blockIdx.x), 0, extents);
  const Statistics statistics = statistics_of(z + row, extents.columns);
  for (int j = static_cast<int>(threadIdx.x); j < extents.columns; j += kThreads) {
    norm[row + j] = (z[row + j] - statistics.mean) * statistics.rstd * gamma[j] + beta[j];
  }
}

__global__ void __launch_bounds__(kThreads)
    norm_backward_kernel(const double* d_norm, const double* z, const double* gamma, double* d_z,
                         double* d_gamma_rows, ExactExtents extents) {
  const std::size_t row = index_of(static_cast<int>(blockIdx.x), 0, extents);
  const auto [mean, rstd] = statistics_of(z + row, extents.columns);
  const auto hat = [&, m = mean, r = rstd](int j) { return (z[row + j] - m) * r; };
  const auto d_hat = [&](int j) { return d_norm[row + j] * gamma[j]; };
  const double of_one = row_sum(extents.columns, d_hat) / extents.columns;
  const double of_hat =
      row_sum(extents.columns, [&](int j) { return d_hat(j) * hat(j); }) / extents.columns;
  for (int j = static_cast<int>(threadIdx.x); j < extents.columns; j += kThreads) {
    d_gamma_rows[row + j] = d_norm[row + j] * hat(j);
    d_z[row + j] = rstd * (d_hat(j) - of_one - hat(j) * of_hat);
  }
}

__global__ void __launch_bounds__(kThreads)
    column_sums_kernel(const double* x, double* sums, ExactExtents extents) {
  const int column = static_cast<int>(blockIdx.x);
  double sum = 0;
  for (int row = static_cast<int>(threadIdx.x); row < extents.rows; row += kThreads) {
    sum += x[index_of(row, column, extents)];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[column] = sum;
}

__device__ bool keeps(const ExactScores& scores, int row, int key) {
  const Dropout& dropout = scores.dropout.dropout;
  return dropout.threshold == 0u ||
         dropout_keeps(dropout, scores.views.place(scores.sequence, scores.head, row, key));
}

__device__ bool sees(const ExactScores& scores, int row, int key) {
  if (scores.bits == nullptr) return scores.mask.sees(row, key);
  const std::uint64_t word =
      scores.bits[static_cast<std::size_t>(row) * static_cast<std::size_t>(scores.row_words) +
                  static_cast<std::size_t>(key / 64)];
  return (word >> (key % 64) & 1u) != 0u;
}

__global__ void __launch_bounds__(kThreads)
    softmax_kernel(double* p, double* dropped, ExactScores scores, ExactExtents extents) {
  const int row = scores.first_row + static_cast<int>(blockIdx.x);
  const std::size_t place = index_of(static_cast<int>(blockIdx.x), 0, extents);
  double most = -INFINITY;
  for (int j = static_cast<int>(threadIdx.x); j < extents.columns; j += kThreads) {
    if (sees(scores, row, j)) most = fmax(most, scores.scale * p[place + j]);
  }
  most = block_max(most);
  const double sum = row_sum(extents.columns, [&](int j) {
    return sees(scores, row, j) ? exp(scores.scale * p[place + j] - most) : 0.0;
  });
  for (int j = static_cast<int>(threadIdx.x); j < extents.columns; j += kThreads) {
    const double value = sees(scores, row, j) ? exp(scores.scale * p[place + j] - most) / sum : 0.0;
    p[place + j] = value;
    dropped[place + j] = keeps(scores, row, j) ? value * scores.dropout.keep_scale : 0.0;
  }
}

__global__ void __launch_bounds__(kThreads)
    softmax_backward_kernel(const double* p, double* d_scores, ExactScores scores,
                            ExactExtents extents) {
  const int row = scores.first_row + static_cast<int>(blockIdx.x);
  const std::size_t place = index_of(static_cast<int>(blockIdx.x), 0, extents);
  const auto d_p = [&](int j) {
    return keeps(scores, row, j) ? d_scores[place + j] * scores.dropout.keep_scale : 0.0;
  };
  const double delta = row_sum(extents.columns, [&](int j) { return p[place + j] * d_p(j); });
  for (int j = static_cast<int>(threadIdx.x); j < extents.columns; j += kThreads) {
    d_scores[place + j] = scores.scale * p[place + j] * (d_p(j) - delta);
  }
}

unsigned rows_of(ExactExtents extents) { return static_cast<unsigned>(extents.rows); }

}  // namespace

void exact_widen(const Half* halves, double* values, std::size_t count, cudaStream_t stream) {
  constexpr int kColumns = 4096;
  const auto rows = static_cast<int>((count + kColumns - 1) / kColumns);
  run_elements({rows, kColumns}, stream, Widen{halves, values, count});
}

void exact_narrow(const double* values, Half* halves, std::size_t count, cudaStream_t stream) {
  constexpr int kColumns = 4096;
  const auto rows = static_cast<int>((count + kColumns - 1) / kColumns);
  run_elements({rows, kColumns}, stream, Narrow{values, halves, count});
}

void exact_add_bias(double* x, const double* bias, ExactExtents extents, cudaStream_t stream) {
  run_elements(extents, stream, AddBias{x, bias});
}

void exact_drop(const double* x, double* out, const ExactDropout& dropout, DropoutSite site,
                ExactExtents extents, cudaStream_t stream) {
  run_elements(extents, stream, Drop{x, out, dropout, site});
}

void exact_add(const double* a, const double* b, double* out, ExactExtents extents,
               cudaStream_t stream) {
  run_elements(extents, stream, Add{a, b, out});
}

void exact_activate(Activation activation, const double* u, double* g, ExactExtents extents,
                    cudaStream_t stream) {
  run_elements(extents, stream, Activate{activation, u, g});
}

void exact_activate_backward(Activation activation, const double* d_g, const double* u, double* d_u,
                             ExactExtents extents, cudaStream_t stream) {
  run_elements(extents, stream, ActivateBackward{activation, d_g, u, d_u});
}

void exact_norm(const double* z, const double* gamma, const double* beta, double* norm,
                ExactExtents extents, cudaStream_t stream) {
  norm_kernel<<<rows_of(extents), kThreads, 0, stream>>>(z, gamma, beta, norm, extents);
  CUDA_CHECK(cudaGetLastError());
}

void exact_norm_backward(const double* d_norm, const double* z, const double* gamma, double* d_z,
                         double* d_gamma_rows, ExactExtents extents, cudaStream_t stream) {
  norm_backward_kernel<<<rows_of(extents), kThreads, 0, stream>>>(d_norm, z, gamma, d_z,
                                                                  d_gamma_rows, extents);
  CUDA_CHECK(cudaGetLastError());
}

void exact_column_sums(const double* x, double* sums, ExactExtents extents, cudaStream_t stream) {
  column_sums_kernel<<<static_cast<unsigned>(extents.columns), kThreads, 0, stream>>>(x, sums,
                                                                                      extents);
  CUDA_CHECK(cudaGetLastError());
}

void exact_softmax(double* p, double* dropped, const ExactScores& scores, ExactExtents extents,
                   cudaStream_t stream) {
  softmax_kernel<<<rows_of(extents), kThreads, 0, stream>>>(p, dropped, scores, extents);
  CUDA_CHECK(cudaGetLastError());
}

void exact_softmax_backward(const double* p, double* d_scores, const ExactScores& scores,
                            ExactExtents extents, cudaStream_t stream) {
  softmax_backward_kernel<<<rows_of(extents), kThreads, 0, stream>>>(p, d_scores, scores, extents);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
