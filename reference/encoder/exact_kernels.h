// The operations of a layer in fp64 on a GPU except matrix products: one operation per launch,
// written as its definition. This is for the oracle; speed does not matter. Matrices are [rows,
// columns], contiguous unless a stride is given. C++17, because device code includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/mask/dropout_views.h"
#include "kernels/mask/key_mask.h"
#include "reference/encoder/layer_dropout.h"
#include "reference/encoder/layer_shape.h"

namespace sparkbench {

struct ExactExtents {
  int rows = 0, columns = 0;
};

void exact_widen(const Half* halves, double* values, std::size_t count, cudaStream_t stream);
/// Rounds each value to the nearest fp16, through fp32.
void exact_narrow(const double* values, Half* halves, std::size_t count, cudaStream_t stream);

/// The dropout, and the fp64 factor of kept values.
struct ExactDropout {
  Dropout dropout;
  double keep_scale = 1;
};

/// x += bias
void exact_add_bias(double* x, const double* bias, ExactExtents extents, cudaStream_t stream);
/// out = dropout(x); out may be x.
void exact_drop(const double* x, double* out, const ExactDropout& dropout, DropoutSite site,
                ExactExtents extents, cudaStream_t stream);
/// out = a + b
void exact_add(const double* a, const double* b, double* out, ExactExtents extents,
               cudaStream_t stream);
void exact_activate(Activation activation, const double* u, double* g, ExactExtents extents,
                    cudaStream_t stream);
/// d_u = d_g act'(u); d_u may be d_g.
void exact_activate_backward(Activation activation, const double* d_g, const double* u, double* d_u,
                             ExactExtents extents, cudaStream_t stream);

void exact_norm(const double* z, const double* gamma, const double* beta, double* norm,
                ExactExtents extents, cudaStream_t stream);
/// Writes d_z, and d_norm times the normalized z; the latter's sum over rows is the gradient of
/// gamma.
void exact_norm_backward(const double* d_norm, const double* z, const double* gamma, double* d_z,
                         double* d_gamma_rows, ExactExtents extents, cudaStream_t stream);
void exact_column_sums(const double* x, double* sums, ExactExtents extents, cudaStream_t stream);

/// Some rows of a head's scores, [rows, keys].
struct ExactScores {
  KeyMask mask;
  const std::uint64_t* bits = nullptr;  // replaces the mask unless null: one bit per pair,
  int row_words = 0;                    // rows of this many words
  ExactDropout dropout;
  DropoutViews views;
  int sequence = 0, head = 0;
  int first_row = 0;
  double scale = 1;  // of the scores
};
/// In place, Q K^T becomes P. `dropped` takes dropout(P) and must not be `p`.
void exact_softmax(double* p, double* dropped, const ExactScores& scores, ExactExtents extents,
                   cudaStream_t stream);
/// In place, the gradient of dropout(P) becomes that of Q K^T.
void exact_softmax_backward(const double* p, double* d_scores, const ExactScores& scores,
                            ExactExtents extents, cudaStream_t stream);

}  // namespace sparkbench
