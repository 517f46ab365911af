// Attention as a chain of GEMMs and kernels over tensors of T in GPU memory, forward and backward.
// The GEMMs run one batch element after the other, all heads of it at once.
#pragma once

#include "kernels/attention.h"
#include "kernels/machine/cuda_check.h"
#include "reference/cublas_matmul.cuh"
#include "reference/masked_softmax.cuh"
#include "reference/softmax_backward.cuh"

namespace sparkbench {

/// Matrices [batch, heads, seqlen_q, row_stride].
template <class T>
struct UnfusedWorkspace {
  std::size_t row_stride;  // even, and a multiple of 16 bytes
  T* dropped_p;            // S, then dropout(P)
  T* p;                    // P; where dropout keeps all or no backward will follow, dropped_p
  T* dp;                   // dP, then dS; null when no backward will follow
};

template <class T>
struct UnfusedInputs {
  const T *q, *k, *v;
};

template <class T>
struct UnfusedGradients {
  T *dq, *dk, *dv;
};

template <class T>
class UnfusedChain {
 public:
  UnfusedChain(const Problem& problem, const UnfusedWorkspace<T>& workspace, cublasHandle_t handle,
               cudaStream_t stream)
      : problem_(problem), workspace_(workspace), matmul_{handle, problem.heads}, stream_(stream) {}

  /// S = scale * Q K^T,  P = softmax(S + mask),  O = dropout(P) V
  void forward(const UnfusedInputs<T>& inputs, T* o, float* lse) const {
    for (int batch = 0; batch < problem_.batch; ++batch) {
      matmul_(problem_.scale(), queries(inputs.q, batch), transposed(keys(inputs.k, batch)),
              scores(workspace_.dropped_p, batch));
    }
    T* const kept_p = workspace_.p == workspace_.dropped_p ? nullptr : workspace_.p;
    masked_softmax_dropout<<<score_rows_blocks(shape()), kScoreRowsThreads, 0, stream_>>>(
        shape(), workspace_.dropped_p, kept_p, lse);
    CUDA_CHECK(cudaGetLastError());
    for (int batch = 0; batch < problem_.batch; ++batch) {
      matmul_(1.0f, scores(workspace_.dropped_p, batch), keys(inputs.v, batch), queries(o, batch));
    }
  }

  /// dV = dropout(P)^T dO,  dP = dO V^T,  dS,  dQ = scale * dS K,  dK = scale * dS^T Q
  void backward(const UnfusedInputs<T>& inputs, const T* d_o,
                const UnfusedGradients<T>& gradients) const {
    for (int batch = 0; batch < problem_.batch; ++batch) {
      matmul_(1.0f, transposed(scores(workspace_.dropped_p, batch)), queries(d_o, batch),
              keys(gradients.dv, batch));
      matmul_(1.0f, queries(d_o, batch), transposed(keys(inputs.v, batch)),
              scores(workspace_.dp, batch));
    }
    masked_softmax_dropout_backward<<<score_rows_blocks(shape()), kScoreRowsThreads, 0, stream_>>>(
        shape(), static_cast<const T*>(workspace_.p), workspace_.dp);
    CUDA_CHECK(cudaGetLastError());
    for (int batch = 0; batch < problem_.batch; ++batch) {
      const HeadMatrices<T> ds = scores(workspace_.dp, batch);
      matmul_(problem_.scale(), ds, keys(inputs.k, batch), queries(gradients.dq, batch));
      matmul_(problem_.scale(), transposed(ds), queries(inputs.q, batch),
              keys(gradients.dk, batch));
    }
  }

 private:
  ScoreShape shape() const {
    return {problem_.lse_elements(), workspace_.row_stride, problem_.seqlen_q,
            problem_.seqlen_k,       problem_.causal,       problem_.dropout()};
  }

  /// [seqlen, head_dim] of [batch, seqlen, heads, head_dim].
  template <class U>
  HeadMatrices<U> heads_of(U* tensor, int seqlen, int batch) const {
    return {tensor + row_offset(batch, 0, 0, seqlen, problem_.heads, problem_.head_dim), seqlen,
            problem_.head_dim, problem_.heads * problem_.head_dim, problem_.head_dim};
  }
  template <class U>
  HeadMatrices<U> queries(U* tensor, int batch) const {
    return heads_of(tensor, problem_.seqlen_q, batch);
  }
  template <class U>
  HeadMatrices<U> keys(U* tensor, int batch) const {
    return heads_of(tensor, problem_.seqlen_k, batch);
  }

  /// [seqlen_q, seqlen_k]
  HeadMatrices<T> scores(T* matrices, int batch) const {
    const auto row_stride = static_cast<long long>(workspace_.row_stride);
    const long long head_stride = problem_.seqlen_q * row_stride;
    return {matrices + static_cast<std::size_t>(batch) * static_cast<std::size_t>(problem_.heads) *
                           static_cast<std::size_t>(head_stride),
            problem_.seqlen_q, problem_.seqlen_k, static_cast<int>(row_stride), head_stride};
  }

  Problem problem_;
  UnfusedWorkspace<T> workspace_;
  HeadMatmul matmul_;
  cudaStream_t stream_;
};

}  // namespace sparkbench
