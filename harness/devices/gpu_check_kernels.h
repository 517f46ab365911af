// Device work around a timed launch (timed_check.h). C++17, because device code includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// The extents of a tensor; of LSE dim is 1.
struct RowShape {
  std::int64_t batch, rows, heads, dim;
};

/// A tensor as another one says: element (b, row, h, d) is `sign` times the other's element
/// ((b + batch) % batches, row, (h + heads) % all heads, d).
struct Variant {
  std::int64_t batch, heads;
  float sign;
};

/// The tolerance of an element against `want`: absolute + relative * |want|.
struct Allowance {
  float absolute, relative;
};

/// A bf16 number in a tensor.
struct Bf16 {
  std::uint16_t bits;
};

/// `to` becomes the variant of `from`, whose elements must not overlap it. T is Bits16 for fp16 and
/// bf16, and float.
template <class T>
void enqueue_variant(cudaStream_t stream, const TensorView<T>& to, const TensorView<const T>& from,
                     const RowShape& shape, const Variant& variant);

/// `to` becomes a copy of `from`.
template <class T>
void enqueue_copy(cudaStream_t stream, const TensorView<T>& to, const TensorView<const T>& from,
                  const RowShape& shape) {
  enqueue_variant(stream, to, from, shape, {0, 0, 1.0f});
}

/// Overwrites the elements with NaNs.
void enqueue_poison(cudaStream_t stream, const TensorView<Bits16>& view, const RowShape& shape);

/// Adds to *count how many elements of `got` differ from the variant of `want` by more than the
/// allowance. Equal infinities, and a NaN where a NaN is wanted, do not differ. T is Half, Bf16 or
/// float.
template <class T>
void enqueue_count_different(cudaStream_t stream, const TensorView<const T>& got,
                             const TensorView<const T>& want, const RowShape& shape,
                             const Variant& variant, const Allowance& allowance,
                             unsigned long long* count);

}  // namespace sparkbench
