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

__device__ Bits16 negative(Bits16 word) {
  return {static_cast<std::uint16_t>(word.bits ^ 0x8000u)};
}
__device__ float negative(float number) { return -number; }

struct Index {
  std::int64_t b, row, h, d;
};

/// The index of the element that a contiguous tensor has as its i-th.
__device__ Index index_of(std::int64_t i, const RowShape& shape) {
  const std::int64_t row = i / shape.dim, token = row / shape.heads;
  return {token / shape.rows, token % shape.rows, row % shape.heads, i % shape.dim};
}

/// The index of the element of the other tensor that the variant puts at i.
__device__ Index shifted(Index i, const RowShape& shape, const Variant& variant) {
  i.b = (i.b + variant.batch) % shape.batch;
  i.h = (i.h + variant.heads) % shape.heads;
  return i;
}

template <class T>
__device__ T& at(const TensorView<T>& view, const Index& i) {
  return view
      .data[i.b * view.batch_stride + i.row * view.seqlen_stride + i.h * view.head_stride + i.d];
}

/// Calls f(index) for the thread's share of the elements.
template <class F>
__device__ void for_each_element(std::int64_t elements, const RowShape& shape, F f) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements;
       i += stride) {
    f(index_of(i, shape));
  }
}

template <class T>
__global__ void variant_kernel(TensorView<T> to, TensorView<const T> from, std::int64_t elements,
                               RowShape shape, Variant variant) {
  for_each_element(elements, shape, [&](const Index& i) {
    const T other = at(from, shifted(i, shape, variant));
    at(to, i) = variant.sign < 0 ? negative(other) : other;
  });
}

__global__ void poison_kernel(TensorView<Bits16> view, std::int64_t elements, RowShape shape) {
  for_each_element(elements, shape, [&](const Index& i) { at(view, i).bits = 0xffff; });
}

__device__ bool differs(float got, float want, const Allowance& allowance) {
  if (got == want || (isnan(got) && isnan(want))) return false;
  return !(fabsf(got - want) <= allowance.absolute + allowance.relative * fabsf(want));
}

template <class T>
__global__ void count_kernel(TensorView<const T> got, TensorView<const T> want,
                             std::int64_t elements, RowShape shape, Variant variant,
                             Allowance allowance, unsigned long long* count) {
  unsigned different = 0;
  for_each_element(elements, shape, [&](const Index& i) {
    const float expected = variant.sign * value(at(want, shifted(i, shape, variant)));
    if (differs(value(at(got, i)), expected, allowance)) ++different;
  });
  if (different != 0) atomicAdd(count, different);
}

std::int64_t elements_of(const RowShape& shape) {
  return shape.batch * shape.rows * shape.heads * shape.dim;
}

unsigned blocks_for(std::int64_t elements) {
  return static_cast<unsigned>(std::min((elements + kThreads - 1) / kThreads, kMostBlocks));
}

}  // namespace

template <class T>
void enqueue_variant(cudaStream_t stream, const TensorView<T>& to, const TensorView<const T>& from,
                     const RowShape& shape, const Variant& variant) {
  const std::int64_t elements = elements_of(shape);
  if (elements == 0) return;
  variant_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(to, from, elements, shape, variant);
  CUDA_CHECK(cudaGetLastError());
}
template void enqueue_variant(cudaStream_t, const TensorView<Bits16>&,
                              const TensorView<const Bits16>&, const RowShape&, const Variant&);
template void enqueue_variant(cudaStream_t, const TensorView<float>&,
                              const TensorView<const float>&, const RowShape&, const Variant&);

void enqueue_poison(cudaStream_t stream, const TensorView<Bits16>& view, const RowShape& shape) {
  const std::int64_t elements = elements_of(shape);
  if (elements == 0) return;
  poison_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(view, elements, shape);
  CUDA_CHECK(cudaGetLastError());
}

template <class T>
void enqueue_count_different(cudaStream_t stream, const TensorView<const T>& got,
                             const TensorView<const T>& want, const RowShape& shape,
                             const Variant& variant, const Allowance& allowance,
                             unsigned long long* count) {
  const std::int64_t elements = elements_of(shape);
  if (elements == 0) return;
  count_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(got, want, elements, shape, variant,
                                                              allowance, count);
  CUDA_CHECK(cudaGetLastError());
}
template void enqueue_count_different(cudaStream_t, const TensorView<const Half>&,
                                      const TensorView<const Half>&, const RowShape&,
                                      const Variant&, const Allowance&, unsigned long long*);
template void enqueue_count_different(cudaStream_t, const TensorView<const Bf16>&,
                                      const TensorView<const Bf16>&, const RowShape&,
                                      const Variant&, const Allowance&, unsigned long long*);
template void enqueue_count_different(cudaStream_t, const TensorView<const float>&,
                                      const TensorView<const float>&, const RowShape&,
                                      const Variant&, const Allowance&, unsigned long long*);

}  // namespace sparkbench
