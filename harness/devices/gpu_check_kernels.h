// Device work around a timed launch (timed_check.h). C++17, because device code includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// Shape of a contiguous [batch, rows, heads, dim]; with heads_first of [batch, heads, rows, dim].
struct RowShape {
  std::int64_t batch, rows, heads, dim;
  bool heads_first;
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

/// `to` becomes the variant of `from`. T is Half, Bf16 or float.
template <class T>
void enqueue_variant(cudaStream_t stream, T* to, const T* from, const RowShape& shape,
                     const Variant& variant);

/// Adds to *count how many elements of `got` differ from the variant of `want` by more than the
/// allowance. Equal infinities, and a NaN where a NaN is wanted, do not differ.
template <class T>
void enqueue_count_different(cudaStream_t stream, const T* got, const T* want,
                             const RowShape& shape, const Variant& variant,
                             const Allowance& allowance, unsigned long long* count);

/// `to` becomes a contiguous copy of the view.
void enqueue_gather(cudaStream_t stream, Bits16* to, const TensorView<Bits16>& view,
                    const RowShape& shape);

}  // namespace sparkbench
