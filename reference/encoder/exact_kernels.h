// What a layer in fp64 on a GPU does besides products: an operation a launch, each as its
// definition says, for the oracle and not for speed. Matrices are [rows, columns], contiguous
// unless a stride is given. C++17: device code includes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/encoder/layer_dropout.h"
#include "kernels/encoder/layer_shape.h"
#include "kernels/half.h"
#include "kernels/mask/dropout_views.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench {

struct ExactExtents {
  int rows = 0, columns = 0;
};

void exact_widen(const Half* halves, double* values, std::size_t count, cudaStream_t stream);
/// Each to the nearest fp16, by way of fp32.
void exact_narrow(const double* values, Half* halves, std::size_t count, cudaStream_t stream);

/// What is dropped, and what is kept is multiplied by in fp64.
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
/// d_z, and d_norm times the normalized z, whose sums over rows are the gradient of gamma.
void exact_norm_backward(const double* d_norm, const double* z, const double* gamma, double* d_z,
                         double* d_gamma_rows, ExactExtents extents, cudaStream_t stream);
void exact_column_sums(const double* x, double* sums, ExactExtents extents, cudaStream_t stream);

/// Some rows of a head's scores, [rows, keys].
struct ExactScores {
  KeyMask mask;
  const std::uint64_t* bits = nullptr;  // instead of the mask, unless null: a bit a pair,
  int row_words = 0;                    // rows of so many words
  ExactDropout dropout;
  DropoutViews views;
  int sequence = 0, head = 0;
  int first_row = 0;
  double scale = 1;  // of scores
};
/// From Q K^T, in place: P. `dropped`: dropout(P), which may not be `p`.
void exact_softmax(double* p, double* dropped, const ExactScores& scores, ExactExtents extents,
                   cudaStream_t stream);
/// From the gradient of dropout(P), in place: that of Q K^T.
void exact_softmax_backward(const double* p, double* d_scores, const ExactScores& scores,
                            ExactExtents extents, cudaStream_t stream);

}  // namespace sparkbench
