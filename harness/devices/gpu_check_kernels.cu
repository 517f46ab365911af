#include <cuda_fp16.h>

#include <algorithm>

#include "harness/devices/gpu_check_kernels.h"
#include "kernels/machine/cuda_check.h"

namespace sparkbench {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 16;  // each thread strides over the rest

__device__ float value(Half half) { return __half2float(__ushort_as_half(half.bits)); }
__device__ float value(Bf16 number) {
  return __uint_as_float(static_cast<unsigned>(number.bits) << 16);
}
__device__ float value(float number) { return number; }
__device__ void assign(Half& to, float number) {
  to.bits = __half_as_ushort(__float2half_rn(number));
}
/// A variant is a bf16 number or its negative: it needs no rounding.
__device__ void assign(Bf16& to, float number) {
  to.bits = static_cast<std::uint16_t>(__float_as_uint(number) >> 16);
}
__device__ void assign(float& to, float number) { to = number; }

/// Index of the element of the other tensor.
__device__ std::int64_t other_index(std::int64_t i, const RowShape& shape, const Variant& variant) {
  const std::int64_t d = i % shape.dim, row_index = i / shape.dim;
  const std::int64_t inner = shape.heads_first ? shape.rows : shape.heads;
  const std::int64_t outer = shape.heads_first ? shape.heads : shape.rows;
  const std::int64_t in = row_index % inner, out = row_index / inner % outer;
  const std::int64_t b = (row_index / inner / outer + variant.batch) % shape.batch;
  std::int64_t row = shape.heads_first ? in : out, head = shape.heads_first ? out : in;
  head = (head + variant.heads) % shape.heads;
  const std::int64_t other = shape.heads_first ? (b * shape.heads + head) * shape.rows + row
                                               : (b * shape.rows + row) * shape.heads + head;
  return other * shape.dim + d;
}

template <class T>
__global__ void variant_kernel(T* to, const T* from, std::int64_t elements, RowShape shape,
                               Variant variant) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements;
       i += stride) {
    assign(to[i], variant.sign * value(from[other_index(i, shape, variant)]));
  }
}

__device__ bool differs(float got, float want, const Allowance& allowance) {
  if (got == want || (isnan(got) && isnan(want))) return false;
  return !(fabsf(got - want) <= allowance.absolute + allowance.relative * fabsf(want));
}

template <class T>
__global__ void count_kernel(const T* got, const T* want, std::int64_t elements, RowShape shape,
                             Variant variant, Allowance allowance, unsigned long long* count) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  unsigned different = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements;
       i += stride) {
    const float expected = variant.sign * value(want[other_index(i, shape, variant)]);
    if (differs(value(got[i]), expected, allowance)) ++different;
  }
  if (different != 0) atomicAdd(count, different);
}

__global__ void gather_kernel(Bits16* to, TensorView<Bits16> view, std::int64_t elements,
                              RowShape shape) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements;
       i += stride) {
    const std::int64_t d = i % shape.dim, row = i / shape.dim;
    const std::int64_t h = row % shape.heads, s = row / shape.heads % shape.rows;
    const std::int64_t b = row / shape.heads / shape.rows;
    to[i] = view.data[b * view.batch_stride + s * view.seqlen_stride + h * view.head_stride + d];
  }
}

std::int64_t elements_of(const RowShape& shape) {
  return shape.batch * shape.rows * shape.heads * shape.dim;
}

unsigned blocks_for(std::int64_t elements) {
  return static_cast<unsigned>(std::min((elements + kThreads - 1) / kThreads, kMostBlocks));
}

}  // namespace

template <class T>
void enqueue_variant(cudaStream_t stream, T* to, const T* from, const RowShape& shape,
                     const Variant& variant) {
  const std::int64_t elements = elements_of(shape);
  if (elements == 0) return;
  variant_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(to, from, elements, shape, variant);
  CUDA_CHECK(cudaGetLastError());
}
template void enqueue_variant(cudaStream_t, Half*, const Half*, const RowShape&, const Variant&);
template void enqueue_variant(cudaStream_t, Bf16*, const Bf16*, const RowShape&, const Variant&);
template void enqueue_variant(cudaStream_t, float*, const float*, const RowShape&, const Variant&);

template <class T>
void enqueue_count_different(cudaStream_t stream, const T* got, const T* want,
                             const RowShape& shape, const Variant& variant,
                             const Allowance& allowance, unsigned long long* count) {
  const std::int64_t elements = elements_of(shape);
  if (elements == 0) return;
  count_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(got, want, elements, shape, variant,
                                                              allowance, count);
  CUDA_CHECK(cudaGetLastError());
}
template void enqueue_count_different(cudaStream_t, const Half*, const Half*, const RowShape&,
                                      const Variant&, const Allowance&, unsigned long long*);
template void enqueue_count_different(cudaStream_t, const Bf16*, const Bf16*, const RowShape&,
                                      const Variant&, const Allowance&, unsigned long long*);
template void enqueue_count_different(cudaStream_t, const float*, const float*, const RowShape&,
                                      const Variant&, const Allowance&, unsigned long long*);

void enqueue_gather(cudaStream_t stream, Bits16* to, const TensorView<Bits16>& view,
                    const RowShape& shape) {
  const std::int64_t elements = elements_of(shape);
  if (elements == 0) return;
  gather_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(to, view, elements, shape);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
