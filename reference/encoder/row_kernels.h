// A layer's GPU kernels other than products and attention, over the rows of fp16
// matrices [rows, columns], contiguous, aligned to 16 bytes, columns a multiple of 8. Arithmetic is
// fp32 between loads and stores, and no sum depends on how blocks are scheduled. C++17: device code
// includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/base/half.h"
#include "reference/encoder/layer_dropout.h"
#include "reference/encoder/layer_shape.h"

namespace sparkbench {

struct RowExtents {
  int rows = 0, columns = 0;
};

/// The widest rows that are normalized: a block of 1024 threads holds one.
inline constexpr int kMostNormalizedColumns = 8192;

/// out = residual + dropout(x + bias). A null pointer leaves its part out; out may be x or
/// residual.
struct AddRows {
  const Half* x = nullptr;
  const Half* bias = nullptr;      // [columns]
  const Half* residual = nullptr;  // [rows, columns]
  Half* out = nullptr;
  Dropout dropout{};  // threshold 0: none
  DropoutSite site = DropoutSite::kFirst;
};
void add_rows(const AddRows& tensors, RowExtents extents, cudaStream_t stream);

/// sum as in add_rows(), norm = gamma (sum - mean) / sqrt(variance + epsilon) + beta, with the
/// statistics of the sum before its rounding. `add.out` is where the sum is stored, or null. Up to
/// kMostNormalizedColumns columns.
struct AddNorm {
  AddRows add;
  const Half* gamma = nullptr;
  const Half* beta = nullptr;
  Half* norm = nullptr;
};
void add_norm(const AddNorm& tensors, RowExtents extents, cudaStream_t stream);

/// The gradient of z of norm = LayerNorm(z) from that of the norm: d_z, to which `beside`, the
/// gradient that comes by a residual, is added; through dropout d_branch; and the sums over rows
/// that are the gradients of gamma, beta and of the bias before dropout. Null pointers leave their
/// part out; without dropout d_branch is d_z.
struct NormBackward {
  const Half* d_norm = nullptr;
  const Half* z = nullptr;
  const Half* gamma = nullptr;
  const Half* beside = nullptr;
  Half* d_z = nullptr;
  Half* d_branch = nullptr;
  Dropout dropout{};
  DropoutSite site = DropoutSite::kFirst;
  Half* d_gamma = nullptr;   // [columns]; null: no sums. d_beta follows it,
  bool sums_branch = false;  // and then the sums of d_branch
  float* scratch = nullptr;  // of norm_scratch_bytes(), where there are sums
};
std::size_t norm_scratch_bytes(RowExtents extents);
void norm_backward(const NormBackward& tensors, RowExtents extents, cudaStream_t stream);

/// Where sums over rows go: [columns], by a scratch of column_scratch_bytes().
struct ColumnSums {
  Half* sums = nullptr;
  float* scratch = nullptr;
};
std::size_t column_scratch_bytes(RowExtents extents);
void column_sums(const Half* x, const ColumnSums& sums, RowExtents extents, cudaStream_t stream);

/// g = act(u)
void activate(Activation activation, const Half* u, Half* g, RowExtents extents,
              cudaStream_t stream);
/// d_u = d_g act'(u), and its sums over rows unless that is null. d_u may be d_g. Of ReLU, u may be
/// g.
void activate_backward(Activation activation, const Half* d_g, const Half* u, Half* d_u,
                       const ColumnSums* sums, RowExtents extents, cudaStream_t stream);

}  // namespace sparkbench
