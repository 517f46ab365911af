// Sums over rows that many blocks share: each writes its part, and a second kernel adds the parts
// in one order.
#pragma once

#include <cuda_fp16.h>

#include "kernels/base/ceil_divide.h"
#include "kernels/base/half.h"
#include "kernels/machine/cuda_check.h"

namespace sparkbench {

constexpr int kSumColumns = 32, kSumRows = 8;

/// sums[j] = the sum over parts of partial[part, j].
static __global__ void __launch_bounds__(kSumColumns* kSumRows)
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

inline void sum_parts(const float* partial, int parts, int columns, Half* sums,
                      cudaStream_t stream) {
  sum_parts_kernel<<<static_cast<unsigned>(ceil_divide(columns, kSumColumns)),
                     dim3(kSumColumns, kSumRows), 0, stream>>>(partial, parts, columns, sums);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
