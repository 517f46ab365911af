// Copies between fp16 and fp32 tensors in GPU memory. The two layouts may differ.
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstddef>

#include "kernels/machine/cuda_check.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

__device__ inline void copy_as(float* out, __half value) { *out = __half2float(value); }
__device__ inline void copy_as(__half* out, float value) { *out = __float2half_rn(value); }

/// Extents of [batch, seqlen, heads, head_dim] tensors.
struct CopyExtents {
  int batch, seqlen, heads, head_dim;

  SPARK_HD std::size_t elements() const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(seqlen) *
           static_cast<std::size_t>(heads) * static_cast<std::size_t>(head_dim);
  }
};

template <class From, class To>
__global__ void copy_elements(TensorView<const From> in, TensorView<To> out, CopyExtents extents) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t count = extents.elements();
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int d = static_cast<int>(i % extents.head_dim);
    const std::size_t row = i / extents.head_dim;
    const int h = static_cast<int>(row % extents.heads);
    const std::size_t token = row / extents.heads;
    const int s = static_cast<int>(token % extents.seqlen);
    const int b = static_cast<int>(token / extents.seqlen);
    copy_as(out.row(b, s, h) + d, in.row(b, s, h)[d]);
  }
}

/// Widens or narrows a tensor; narrowing rounds to nearest even.
template <class From, class To>
void copy_precision(const TensorView<const From>& in, const TensorView<To>& out,
                    const CopyExtents& extents, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  const std::size_t blocks =
      std::min<std::size_t>((extents.elements() + kThreads - 1) / kThreads, 65535);
  copy_elements<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(in, out, extents);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
