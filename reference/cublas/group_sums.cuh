// dK and dV for heads that share keys: the sum of the heads' contributions, in fp32.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/machine/cuda_check.h"
#include "reference/cublas/precision_copy.cuh"

namespace sparkbench {

__device__ inline void copy_as(float* out, float value) { *out = value; }

/// of_head [batch, heads, seqlen, head_dim]; `group_size` heads are summed into each head of
/// `extents`.
template <class T>
__global__ void add_groups(const float* of_head, TensorView<T> sums, CopyExtents extents,
                           int group_size) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t head_elements = std::size_t(extents.seqlen) * extents.head_dim;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < extents.elements();
       i += step) {
    const std::size_t in_head = i % head_elements, key_head = i / head_elements;
    const float* const first = of_head + key_head * group_size * head_elements + in_head;
    float sum = 0.0f;
    for (int member = 0; member < group_size; ++member) sum += first[member * head_elements];
    const int h = static_cast<int>(key_head % extents.heads);
    const int b = static_cast<int>(key_head / extents.heads);
    const int s = static_cast<int>(in_head / extents.head_dim);
    copy_as(sums.row(b, s, h) + in_head % extents.head_dim, sum);
  }
}

/// `extents` are those of the sums, which are rounded to T.
template <class T>
void enqueue_group_sums(const float* of_head, const TensorView<T>& sums, const CopyExtents& extents,
                        int group_size, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  const std::size_t blocks =
      std::min<std::size_t>((extents.elements() + kThreads - 1) / kThreads, 65535);
  add_groups<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(of_head, sums, extents,
                                                                     group_size);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
