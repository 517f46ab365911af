// Attention as a chain of GEMMs and kernels over tensors of T in GPU memory, forward and backward.
// Each GEMM is one launch for all heads of all batch elements.
#pragma once

#include "kernels/machine/cuda_check.h"
#include "kernels/problem/attention.h"
#include "kernels/problem/tensors.h"
#include "kernels/strided/pass_dropout.h"
#include "reference/cublas/cublas_matmul.cuh"
#include "reference/cublas/group_sums.cuh"
#include "reference/cublas/head_pointers.cuh"
#include "reference/cublas/masked_softmax.cuh"
#include "reference/cublas/pattern_bits.h"
#include "reference/cublas/softmax_backward.cuh"
#include "reference/cublas/unfused_part.h"

namespace sparkbench {

/// Matrices [batch, heads, seqlen_q, row_stride].
template <class T>
struct UnfusedWorkspace {
  std::size_t row_stride;  // a multiple of 16 bytes
  T* dropped_p;            // S, then dropout(P)
  T* p;                    // P; equals dropped_p if dropout keeps everything or no backward follows
  T* dp;                   // dP, then dS; null if no backward follows
  float* key_gradients;    // [batch, heads, seqlen_k, head_dim]: dV, then dK, of each head; null if
                           // no backward follows or no two heads share keys
  HeadPointerMemory forward_heads, backward_heads;
  int first_head;  // UnfusedPlace::first_head
  int lse_stride;
  PatternBits bits;
};

template <class T>
struct UnfusedInputs {
  TensorView<const T> q, k, v;
};

template <class T>
struct UnfusedGradients {
  TensorView<T> dq, dk, dv;
};

/// The stream of a chain and the callback for its parts; null: no callback.
struct ChainQueue {
  cublasHandle_t cublas;
  cudaStream_t stream;
  const AfterPart& after_part;
};

template <class T>
class UnfusedChain {
 public:
  UnfusedChain(const Problem& problem, const UnfusedWorkspace<T>& workspace,
               const ChainQueue& queue)
      : problem_(problem),
        workspace_(workspace),
        matmul_{queue.cublas, problem.batch * problem.heads},
        queue_(queue) {}

  /// S = scale * Q K^T,  P = softmax(S + mask),  O = dropout(P) V
  void forward(const UnfusedInputs<T>& inputs, const TensorView<T>& o, float* lse) const {
    HeadPointers heads(problem_.batch, problem_.heads, workspace_.forward_heads);
    const auto q = queries(heads, inputs.q), k = keys(heads, inputs.k), v = keys(heads, inputs.v);
    const auto dropped_p = scores(heads, workspace_.dropped_p), output = queries(heads, o);
    heads.write(queue_.stream);
    product("S = scale Q K^T", problem_.scale(), q, transposed(k), dropped_p);
    softmax(lse);
    product("O = P V", 1.0f, dropped_p, v, output);
  }

  /// dV = dropout(P)^T dO,  dP = dO V^T,  dS,  dQ = scale * dS K,  dK = scale * dS^T Q
  ///
  /// Heads that share keys first get their own dV and dK in fp32, which are then summed.
  void backward(const UnfusedInputs<T>& inputs, const TensorView<const T>& d_output,
                const UnfusedGradients<T>& gradients) const {
    HeadPointers heads(problem_.batch, problem_.heads, workspace_.backward_heads);
    const auto q = queries(heads, inputs.q), k = keys(heads, inputs.k), v = keys(heads, inputs.v);
    const auto d_o = queries(heads, d_output), dropped_p = scores(heads, workspace_.dropped_p);
    const auto ds = scores(heads, workspace_.dp), dq = queries(heads, gradients.dq);
    const bool is_grouped = problem_.group_size() > 1;
    const auto dk = is_grouped ? key_gradients(heads) : keys(heads, gradients.dk);
    const auto dv = is_grouped ? dk : keys(heads, gradients.dv);
    heads.write(queue_.stream);
    key_product("dV = P^T dO", 1.0f, transposed(dropped_p), d_o, dv, gradients.dv);
    product("dP = dO V^T", 1.0f, d_o, transposed(v), ds);
    softmax_backward();
    product("dQ = scale dS K", problem_.scale(), ds, k, dq);
    key_product("dK = scale dS^T Q", problem_.scale(), transposed(ds), q, dk, gradients.dk);
  }

 private:
  void product(std::string_view name, float alpha, const HeadMatrices<T>& a,
               const HeadMatrices<T>& b, const HeadMatrices<T>& c) const {
    matmul_(alpha, a, b, c);
    tell_product(name, a, b, c, bytes_of(c));
  }
  /// dV or dK. `c` has one matrix per key head or, if heads share keys, one per head.
  void key_product(std::string_view name, float alpha, const HeadMatrices<T>& a,
                   const HeadMatrices<T>& b, const HeadMatrices<T>& c,
                   const TensorView<T>& gradient) const {
    const int group_size = problem_.group_size();
    if (group_size == 1) return product(name, alpha, a, b, c);
    matmul_(alpha, a, b, HeadMatrices<float>{c.of_head, c.rows, c.columns, c.row_stride, c.count});
    const CopyExtents extents{problem_.batch, problem_.seqlen_k, problem_.key_heads(),
                              problem_.head_dim};
    enqueue_group_sums(static_cast<const float*>(workspace_.key_gradients), gradient, extents,
                       group_size, queue_.stream);
    const std::uint64_t of_heads = 2 * static_cast<std::uint64_t>(c.count) * elements(c);
    tell_product(name, a, b, c, of_heads * sizeof(float) + extents.elements() * sizeof(T));
  }
  void tell_product(std::string_view name, const HeadMatrices<T>& a, const HeadMatrices<T>& b,
                    const HeadMatrices<T>& c, std::uint64_t bytes_of_c) const {
    if (!queue_.after_part) return;
    const auto heads = static_cast<std::uint64_t>(matmul_.count);
    queue_.after_part({name, bytes_of(a) + bytes_of(b) + bytes_of_c,
                       2 * heads * elements(c) * static_cast<std::uint64_t>(a.columns)});
  }
  static std::uint64_t elements(const HeadMatrices<T>& m) { return product_of(m.rows, m.columns); }
  static std::uint64_t bytes_of(const HeadMatrices<T>& m) {
    return static_cast<std::uint64_t>(m.count) * elements(m) * sizeof(T);
  }

  void softmax(float* lse) const {
    T* const kept_p = workspace_.p == workspace_.dropped_p ? nullptr : workspace_.p;
    enqueue_masked_softmax(shape(), workspace_.dropped_p, kept_p, lse, queue_.stream);
    if (queue_.after_part) queue_.after_part({"P = softmax S", row_bytes(1, kept_p ? 2 : 1), 0});
  }
  void softmax_backward() const {
    enqueue_masked_softmax_backward(shape(), static_cast<const T*>(workspace_.p), workspace_.dp,
                                    queue_.stream);
    if (queue_.after_part) queue_.after_part({"dS of P and dP", row_bytes(2, 1), 0});
  }

  static std::uint64_t product_of(int a, int b) {
    return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
  }
  /// Bytes of score matrices: the visible elements are read and all elements are written.
  std::uint64_t row_bytes(std::uint64_t read, std::uint64_t written) const {
    const auto heads = static_cast<std::uint64_t>(matmul_.count);
    const std::uint64_t all = heads * product_of(problem_.seqlen_q, problem_.seqlen_k);
    return (read * visible_pairs_of_heads(problem_) + written * all) * sizeof(T);
  }

  ScoreShape shape() const {
    return {matmul_.count,
            static_cast<int>(workspace_.row_stride),
            make_key_mask(problem_.mask, problem_.seqlen_q, problem_.seqlen_k),
            problem_.dropout(),
            workspace_.first_head,
            workspace_.lse_stride,
            workspace_.bits,
            dropout_views_of(problem_)};
  }

  /// [seqlen, head_dim] of [batch, seqlen, heads, head_dim]; the heads of a group share a matrix.
  /// The stride of a single row is unused, but cuBLAS requires it to be at least the row's length.
  HeadMatrices<T> heads_of(HeadPointers& heads, const TensorView<const T>& tensor, int seqlen,
                           int group_size) const {
    const auto stride_bytes = [](std::int64_t stride) {
      return static_cast<std::size_t>(stride) * sizeof(T);
    };
    const auto places = heads.add({bytes(tensor.data), stride_bytes(tensor.batch_stride),
                                   stride_bytes(tensor.head_stride), group_size});
    const int row_stride = seqlen == 1 ? problem_.head_dim : static_cast<int>(tensor.seqlen_stride);
    return {places, seqlen, problem_.head_dim, row_stride, matmul_.count / group_size};
  }
  HeadMatrices<T> queries(HeadPointers& heads, const TensorView<const T>& tensor) const {
    return heads_of(heads, tensor, problem_.seqlen_q, 1);
  }
  HeadMatrices<T> keys(HeadPointers& heads, const TensorView<const T>& tensor) const {
    return heads_of(heads, tensor, problem_.seqlen_k, problem_.group_size());
  }
  /// One per head, in fp32 for any T.
  HeadMatrices<T> key_gradients(HeadPointers& heads) const {
    const std::size_t head_bytes = static_cast<std::size_t>(problem_.seqlen_k) *
                                   static_cast<std::size_t>(problem_.head_dim) * sizeof(float);
    const std::size_t batch_bytes = static_cast<std::size_t>(problem_.heads) * head_bytes;
    auto* const first = reinterpret_cast<std::byte*>(workspace_.key_gradients);
    return {heads.add({first, batch_bytes, head_bytes}), problem_.seqlen_k, problem_.head_dim,
            problem_.head_dim, matmul_.count};
  }

  /// [seqlen_q, seqlen_k]
  HeadMatrices<T> scores(HeadPointers& heads, const T* matrices) const {
    const std::size_t head_bytes =
        static_cast<std::size_t>(problem_.seqlen_q) * workspace_.row_stride * sizeof(T);
    const std::size_t batch_bytes = static_cast<std::size_t>(problem_.heads) * head_bytes;
    return {heads.add({bytes(matrices), batch_bytes, head_bytes}), problem_.seqlen_q,
            problem_.seqlen_k, static_cast<int>(workspace_.row_stride), matmul_.count};
  }

  /// cuBLAS's arrays of pointers are not const.
  static std::byte* bytes(const T* tensor) {
    return reinterpret_cast<std::byte*>(const_cast<T*>(tensor));
  }

  Problem problem_;
  UnfusedWorkspace<T> workspace_;
  HeadMatmul matmul_;
  ChainQueue queue_;
};

}  // namespace sparkbench
