// Attention as a chain of GEMMs and kernels over tensors of T in GPU memory, forward and backward.
// Each GEMM is one launch for all heads of all batch elements.
#pragma once

#include "kernels/attention.h"
#include "kernels/machine/cuda_check.h"
#include "kernels/tensors.h"
#include "reference/cublas/cublas_matmul.cuh"
#include "reference/cublas/head_pointers.cuh"
#include "reference/cublas/masked_softmax.cuh"
#include "reference/cublas/softmax_backward.cuh"

namespace sparkbench {

/// Matrices [batch, heads, seqlen_q, row_stride].
template <class T>
struct UnfusedWorkspace {
  std::size_t row_stride;     // even, and a multiple of 16 bytes
  T* dropped_p;               // S, then dropout(P)
  T* p;                       // P; where dropout keeps all or no backward will follow, dropped_p
  T* dp;                      // dP, then dS; null when no backward will follow
  std::byte** head_pointers;  // head_pointer_bytes()
};

template <class T>
struct UnfusedInputs {
  TensorView<const T> q, k, v;
};

template <class T>
struct UnfusedGradients {
  TensorView<T> dq, dk, dv;
};

template <class T>
class UnfusedChain {
 public:
  UnfusedChain(const Problem& problem, const UnfusedWorkspace<T>& workspace, cublasHandle_t handle,
               cudaStream_t stream)
      : problem_(problem),
        workspace_(workspace),
        matmul_{handle, problem.batch * problem.heads},
        stream_(stream) {}

  /// S = scale * Q K^T,  P = softmax(S + mask),  O = dropout(P) V
  void forward(const UnfusedInputs<T>& inputs, const TensorView<T>& o, float* lse) const {
    HeadPointers heads(problem_.batch, problem_.heads, workspace_.head_pointers);
    const auto q = queries(heads, inputs.q), k = keys(heads, inputs.k), v = keys(heads, inputs.v);
    const auto dropped_p = scores(heads, workspace_.dropped_p), output = queries(heads, o);
    heads.write(stream_);
    matmul_(problem_.scale(), q, transposed(k), dropped_p);
    T* const kept_p = workspace_.p == workspace_.dropped_p ? nullptr : workspace_.p;
    masked_softmax_dropout<<<score_rows_blocks(shape()), kScoreRowsThreads, 0, stream_>>>(
        shape(), workspace_.dropped_p, kept_p, lse);
    CUDA_CHECK(cudaGetLastError());
    matmul_(1.0f, dropped_p, v, output);
  }

  /// dV = dropout(P)^T dO,  dP = dO V^T,  dS,  dQ = scale * dS K,  dK = scale * dS^T Q
  void backward(const UnfusedInputs<T>& inputs, const TensorView<const T>& d_output,
                const UnfusedGradients<T>& gradients) const {
    HeadPointers heads(problem_.batch, problem_.heads, workspace_.head_pointers);
    const auto q = queries(heads, inputs.q), k = keys(heads, inputs.k), v = keys(heads, inputs.v);
    const auto d_o = queries(heads, d_output), dropped_p = scores(heads, workspace_.dropped_p);
    const auto ds = scores(heads, workspace_.dp), dq = queries(heads, gradients.dq);
    const auto dk = keys(heads, gradients.dk), dv = keys(heads, gradients.dv);
    heads.write(stream_);
    matmul_(1.0f, transposed(dropped_p), d_o, dv);
    matmul_(1.0f, d_o, transposed(v), ds);
    masked_softmax_dropout_backward<<<score_rows_blocks(shape()), kScoreRowsThreads, 0, stream_>>>(
        shape(), static_cast<const T*>(workspace_.p), workspace_.dp);
    CUDA_CHECK(cudaGetLastError());
    matmul_(problem_.scale(), ds, k, dq);
    matmul_(problem_.scale(), transposed(ds), q, dk);
  }

 private:
  ScoreShape shape() const {
    return {problem_.lse_elements(), workspace_.row_stride, problem_.key_mask(),
            problem_.dropout()};
  }

  /// [seqlen, head_dim] of [batch, seqlen, heads, head_dim]. The stride of a single row is
  /// nobody's, and cuBLAS wants it to be no less than the row's length.
  HeadMatrices<T> heads_of(HeadPointers& heads, const TensorView<const T>& tensor,
                           int seqlen) const {
    const auto stride_bytes = [](std::int64_t stride) {
      return static_cast<std::size_t>(stride) * sizeof(T);
    };
    const auto places = heads.add(
        {bytes(tensor.data), stride_bytes(tensor.batch_stride), stride_bytes(tensor.head_stride)});
    const int row_stride = seqlen == 1 ? problem_.head_dim : static_cast<int>(tensor.seqlen_stride);
    return {places, seqlen, problem_.head_dim, row_stride};
  }
  HeadMatrices<T> queries(HeadPointers& heads, const TensorView<const T>& tensor) const {
    return heads_of(heads, tensor, problem_.seqlen_q);
  }
  HeadMatrices<T> keys(HeadPointers& heads, const TensorView<const T>& tensor) const {
    return heads_of(heads, tensor, problem_.seqlen_k);
  }

  /// [seqlen_q, seqlen_k]
  HeadMatrices<T> scores(HeadPointers& heads, const T* matrices) const {
    const std::size_t head_bytes =
        static_cast<std::size_t>(problem_.seqlen_q) * workspace_.row_stride * sizeof(T);
    const std::size_t batch_bytes = static_cast<std::size_t>(problem_.heads) * head_bytes;
    return {heads.add({bytes(matrices), batch_bytes, head_bytes}), problem_.seqlen_q,
            problem_.seqlen_k, static_cast<int>(workspace_.row_stride)};
  }

  /// cuBLAS' arrays of pointers know no const.
  static std::byte* bytes(const T* tensor) {
    return reinterpret_cast<std::byte*>(const_cast<T*>(tensor));
  }

  Problem problem_;
  UnfusedWorkspace<T> workspace_;
  HeadMatmul matmul_;
  cudaStream_t stream_;
};

}  // namespace sparkbench
