// Copies between fp16 and fp32 tensors in GPU memory.
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstddef>

#include "kernels/machine/cuda_check.h"

namespace sparkbench {

__device__ inline void copy_as(float* out, __half value) { *out = __half2float(value); }
__device__ inline void copy_as(__half* out, float value) { *out = __float2half_rn(value); }

template <class From, class To>
__global__ void copy_elements(const From* in, To* out, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    copy_as(out + i, in[i]);
  }
}

/// Widens or narrows `count` elements; narrowing rounds to nearest even.
template <class From, class To>
void copy_precision(const From* in, To* out, std::size_t count, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  const std::size_t blocks = std::min<std::size_t>((count + kThreads - 1) / kThreads, 65535);
  copy_elements<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(in, out, count);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
