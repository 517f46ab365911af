#include "reference/encoder/row_kernels.h"

#include <algorithm>

#include "kernels/base/ceil_divide.h"
#include "kernels/machine/cuda_check.h"
#include "reference/encoder/activation.h"
#include "reference/encoder/row_sums.cuh"
#include "reference/encoder/row_vectors.cuh"

namespace sparkbench {
namespace {

constexpr int kElementThreads = 128;

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

__global__ void __launch_bounds__(kElementThreads)
    add_rows_kernel(const AddRows tensors, const RowExtents extents) {
  const auto [first_row, column] = element_place();
  const GroupDropout dropout(tensors.dropout, tensors.site, first_row, column);
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

/// How many blocks share the rows of a sum, whatever the GPU, so that sums have one order; and the
/// rows that a block has at least.
constexpr int kMostParts = 512, kRowsOfPart = 8;

int column_parts(RowExtents extents) {
  return std::min(kMostParts, ceil_divide(extents.rows, kRowsOfPart));
}

/// out = f(a, b) of each element, and the sums over rows of what is stored: a part of the rows a
/// block. b may be null, and so may out; then f(a, b) itself is summed.
template <class F>
__global__ void __launch_bounds__(kElementThreads)
    map_and_sum_kernel(const Half* a, const Half* b, Half* out, float* partial,
                       const RowExtents extents, const F f) {
  const int column = static_cast<int>(blockIdx.y * kElementThreads + threadIdx.x) * kVector;
  if (column >= extents.columns) return;
  Floats sum = zeros();
#pragma unroll 4
  for (int row = static_cast<int>(blockIdx.x); row < extents.rows;
       row += static_cast<int>(gridDim.x)) {
    const std::size_t place = element(extents, row, column);
    Floats value = load(a + place);
    const Floats other = b != nullptr ? load(b + place) : zeros();
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      value.at[j] = f(value.at[j], other.at[j]);
      sum.at[j] += value.at[j];
    }
    if (out != nullptr) store(out + place, value);
  }
  store_floats(partial + element(extents, static_cast<int>(blockIdx.x), column), sum);
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

struct Unchanged {
  __device__ float operator()(float x, float /*none*/) const { return x; }
};

template <class F>
void map_rows(const Half* a, const Half* b, Half* out, RowExtents extents, const F& f,
              cudaStream_t stream) {
  map_kernel<<<element_grid(extents), kElementThreads, 0, stream>>>(a, b, out, extents, f);
  CUDA_CHECK(cudaGetLastError());
}

template <class F>
void map_and_sum_rows(const Half* a, const Half* b, Half* out, const ColumnSums& sums,
                      RowExtents extents, const F& f, cudaStream_t stream) {
  const int parts = column_parts(extents);
  const dim3 grid(static_cast<unsigned>(parts),
                  static_cast<unsigned>(ceil_divide(vectors_of(extents), kElementThreads)));
  map_and_sum_kernel<<<grid, kElementThreads, 0, stream>>>(a, b, out, sums.scratch, extents, f);
  CUDA_CHECK(cudaGetLastError());
  sum_parts(sums.scratch, parts, extents.columns, sums.sums, stream);
}

/// f(an activation's F)
template <template <Activation> class F, class Run>
void for_activation(Activation activation, const Run& run) {
  switch (activation) {
    case Activation::kGeluTanh:
      return run(F<Activation::kGeluTanh>{});
    case Activation::kGeluErf:
      return run(F<Activation::kGeluErf>{});
    case Activation::kRelu:
      return run(F<Activation::kRelu>{});
  }
}

}  // namespace

void add_rows(const AddRows& tensors, RowExtents extents, cudaStream_t stream) {
  add_rows_kernel<<<element_grid(extents), kElementThreads, 0, stream>>>(tensors, extents);
  CUDA_CHECK(cudaGetLastError());
}

std::size_t column_scratch_bytes(RowExtents extents) {
  return static_cast<std::size_t>(column_parts(extents)) *
         static_cast<std::size_t>(extents.columns) * sizeof(float);
}

void column_sums(const Half* x, const ColumnSums& sums, RowExtents extents, cudaStream_t stream) {
  map_and_sum_rows(x, nullptr, nullptr, sums, extents, Unchanged{}, stream);
}

void activate(Activation activation, const Half* u, Half* g, RowExtents extents,
              cudaStream_t stream) {
  for_activation<Activate>(activation,
                           [&](auto f) { map_rows(u, nullptr, g, extents, f, stream); });
}

void activate_backward(Activation activation, const Half* d_g, const Half* u, Half* d_u,
                       const ColumnSums* sums, RowExtents extents, cudaStream_t stream) {
  for_activation<ActivateBackward>(activation, [&](auto f) {
    if (sums == nullptr) {
      map_rows(d_g, u, d_u, extents, f, stream);
    } else {
      map_and_sum_rows(d_g, u, d_u, *sums, extents, f, stream);
    }
  });
}

}  // namespace sparkbench
