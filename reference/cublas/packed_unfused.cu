#include <cmath>
#include <cstddef>

#include "kernels/machine/cuda_check.h"
#include "reference/cublas/packed_unfused.h"

namespace sparkbench {
namespace {

/// lse [heads, stride]; fills `rows` of each head.
__global__ void fill_lse(float* lse, int stride, int rows, float value) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row < rows) lse[static_cast<std::size_t>(blockIdx.y) * stride + row] = value;
}

void enqueue_no_key(float* lse, int heads, int stride, int rows, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const dim3 grid(static_cast<unsigned>((rows + kThreads - 1) / kThreads),
                  static_cast<unsigned>(heads));
  fill_lse<<<grid, kThreads, 0, stream>>>(lse, stride, rows, -INFINITY);
  CUDA_CHECK(cudaGetLastError());
}

/// One sequence of a varlen tensor.
template <class T>
TensorView<T> from_token(const TensorView<T>& packed, int token) {
  return {packed.row(0, token, 0), 0, packed.seqlen_stride, packed.head_stride};
}

/// Rows of all of its heads become 0.
void clear(const TensorView<Bits16>& of_sequence, int rows, int heads, int head_dim,
           cudaStream_t stream) {
  for (int h = 0; h < heads; ++h) {
    CUDA_CHECK(cudaMemset2DAsync(of_sequence.row(0, 0, h),
                                 static_cast<std::size_t>(of_sequence.seqlen_stride) * sizeof(Half),
                                 0, static_cast<std::size_t>(head_dim) * sizeof(Half),
                                 static_cast<std::size_t>(rows), stream));
  }
}

/// First token and length of sequence i.
struct Sequence {
  Sequence(const Problem& problem, int i)
      : first_q(problem.lengths->cu_seqlens_q()[static_cast<std::size_t>(i)]),
        first_k(problem.lengths->cu_seqlens_k()[static_cast<std::size_t>(i)]),
        seqlen_q(problem.seqlen_q_of(i)),
        seqlen_k(problem.seqlen_k_of(i)) {}

  template <class T>
  TensorView<T> queries(const TensorView<T>& packed) const {
    return from_token(packed, first_q);
  }
  template <class T>
  TensorView<T> keys(const TensorView<T>& packed) const {
    return from_token(packed, first_k);
  }

  int first_q, first_k, seqlen_q, seqlen_k;
};

}  // namespace

PackedCublasUnfused::PackedCublasUnfused(const Problem& problem, UnfusedPrecision precision,
                                         Pass pass, const std::shared_ptr<cublasContext>& handle)
    : problem_(problem), cublas_workspace_(allocate_on_device(kUnfusedCublasBytes)) {
  for (int i = 0; i < problem.batch; ++i) {
    const Problem alone = problem.alone(i);
    of_each_.emplace_back();
    if (alone.seqlen_q == 0 || alone.seqlen_k == 0) continue;
    of_each_.back() = std::make_unique<CublasUnfused>(
        alone, precision, pass, handle,
        UnfusedPlace{i * problem.heads, problem.lengths->total_q(), cublas_workspace_});
  }
}

std::size_t PackedCublasUnfused::workspace_bytes() const {
  std::size_t bytes = kUnfusedCublasBytes;
  for (const auto& each : of_each_) bytes += each ? each->workspace_bytes() : 0;
  return bytes;
}

void PackedCublasUnfused::forward(const ForwardTensors& tensors, cudaStream_t stream) {
  for (int i = 0; i < problem_.batch; ++i) {
    const Sequence at(problem_, i);
    float* const lse = tensors.lse + at.first_q;
    const auto o = at.queries(tensors.o);
    if (const auto& unfused = of_each_[static_cast<std::size_t>(i)]) {
      unfused->forward({at.queries(tensors.q), at.keys(tensors.k), at.keys(tensors.v), o, lse},
                       stream);
    } else if (at.seqlen_q > 0) {
      clear(o, at.seqlen_q, problem_.heads, problem_.head_dim, stream);
      enqueue_no_key(lse, problem_.heads, problem_.lengths->total_q(), at.seqlen_q, stream);
    }
  }
}

void PackedCublasUnfused::backward(const BackwardTensors& tensors, cudaStream_t stream) {
  for (int i = 0; i < problem_.batch; ++i) {
    const Sequence at(problem_, i);
    const auto dq = at.queries(tensors.dq), dk = at.keys(tensors.dk), dv = at.keys(tensors.dv);
    if (const auto& unfused = of_each_[static_cast<std::size_t>(i)]) {
      unfused->backward({at.queries(tensors.q), at.keys(tensors.k), at.keys(tensors.v),
                         at.queries(tensors.o), at.queries(tensors.d_o), tensors.lse, dq, dk, dv},
                        stream);
      continue;
    }
    if (at.seqlen_q > 0) clear(dq, at.seqlen_q, problem_.heads, problem_.head_dim, stream);
    if (at.seqlen_k > 0) {
      clear(dk, at.seqlen_k, problem_.key_heads(), problem_.head_dim, stream);
      clear(dv, at.seqlen_k, problem_.key_heads(), problem_.head_dim, stream);
    }
  }
}

}  // namespace sparkbench
