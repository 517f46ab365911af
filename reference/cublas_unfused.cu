#include <cublas_v2.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/machine/cuda_check.h"
#include "reference/cublas_unfused.h"
#include "reference/masked_softmax.cuh"

namespace sparkbench {
namespace {

/// What NVIDIA recommends on Hopper, more than cuBLAS takes elsewhere. Ours, so that it is counted.
constexpr std::size_t kCublasWorkspaceBytes = std::size_t{32} << 20;

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasGetStatusName(status) + ": " +
                           cublasGetStatusString(status));
}

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Byte offsets of the parts of the workspace.
struct Layout {
  Layout(const Problem& problem, UnfusedPrecision precision) {
    const bool wide = precision == UnfusedPrecision::kFp32;
    const std::size_t element_bytes = wide ? sizeof(float) : sizeof(Half);
    row_stride = round_up(static_cast<std::size_t>(problem.seqlen_k), 16 / element_bytes);
    scores = place(problem.lse_elements() * row_stride * element_bytes);
    cublas = place(kCublasWorkspaceBytes);
    q = place(wide ? problem.q_elements() * sizeof(float) : 0);
    k = place(wide ? problem.k_elements() * sizeof(float) : 0);
    v = place(wide ? problem.k_elements() * sizeof(float) : 0);
    o = place(wide ? problem.q_elements() * sizeof(float) : 0);
  }

  std::size_t row_stride;  // elements
  std::size_t scores, cublas, q, k, v, o;
  std::size_t total = 0;

 private:
  std::size_t place(std::size_t bytes) {
    const std::size_t offset = total;
    total += round_up(bytes, 256);
    return offset;
  }
};

__global__ void widen(const __half* in, float* out, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = __half2float(in[i]);
  }
}

__global__ void narrow(const float* in, __half* out, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = __float2half_rn(in[i]);
  }
}

constexpr unsigned kCopyThreads = 256;

unsigned blocks_for(std::size_t elements) {
  const std::size_t blocks = (elements + kCopyThreads - 1) / kCopyThreads;
  return static_cast<unsigned>(std::min<std::size_t>(blocks, 65535));
}

cudaDataType_t cublas_type(const __half*) { return CUDA_R_16F; }
cudaDataType_t cublas_type(const float*) { return CUDA_R_32F; }

/// The computation over tensors of T in GPU memory, one batch element after the other.
/// cuBLAS is column-major: to it each of our row-major matrices is its transpose.
template <class T>
struct Unfused {
  cublasHandle_t handle;
  cudaStream_t stream;
  Problem problem;
  std::size_t row_stride;
  T* scores;

  int head_stride() const { return problem.heads * problem.head_dim; }
  std::size_t scores_offset(int batch) const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(problem.heads) *
           static_cast<std::size_t>(problem.seqlen_q) * row_stride;
  }
  std::size_t offset(int batch, int seqlen) const {
    return row_offset(batch, 0, 0, seqlen, problem.heads, problem.head_dim);
  }
  long long scores_stride() const {
    return static_cast<long long>(problem.seqlen_q) * static_cast<long long>(row_stride);
  }

  /// S = scale * Q K^T, of every head of one batch element.
  void matmul_qk(const T* q, const T* k, int batch) const {
    const float alpha = problem.scale();
    const float beta = 0.0f;
    const cudaDataType_t type = cublas_type(q);
    check(
        cublasGemmStridedBatchedEx(
            handle, CUBLAS_OP_T, CUBLAS_OP_N, problem.seqlen_k, problem.seqlen_q, problem.head_dim,
            &alpha, k + offset(batch, problem.seqlen_k), type, head_stride(), problem.head_dim,
            q + offset(batch, problem.seqlen_q), type, head_stride(), problem.head_dim, &beta,
            scores + scores_offset(batch), type, static_cast<int>(row_stride), scores_stride(),
            problem.heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx of Q K^T");
  }

  void softmax(float* lse) const {
    const std::size_t rows = problem.lse_elements();
    const std::size_t rows_per_block = kSoftmaxThreads / kWarpSize;
    const ScoreRows<T> score_rows = {
        scores,           rows,           row_stride,       problem.seqlen_q,
        problem.seqlen_k, problem.causal, problem.dropout()};
    const auto blocks = static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block);
    masked_softmax_dropout<<<blocks, kSoftmaxThreads, 0, stream>>>(score_rows, lse);
    CUDA_CHECK(cudaGetLastError());
  }

  /// O = P V, of every head of one batch element.
  void matmul_pv(const T* v, T* o, int batch) const {
    const float alpha = 1.0f;
    const float beta = 0.0f;
    const cudaDataType_t type = cublas_type(v);
    check(cublasGemmStridedBatchedEx(
              handle, CUBLAS_OP_N, CUBLAS_OP_N, problem.head_dim, problem.seqlen_q,
              problem.seqlen_k, &alpha, v + offset(batch, problem.seqlen_k), type, head_stride(),
              problem.head_dim, scores + scores_offset(batch), type, static_cast<int>(row_stride),
              scores_stride(), &beta, o + offset(batch, problem.seqlen_q), type, head_stride(),
              problem.head_dim, problem.heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx of P V");
  }

  void run(const T* q, const T* k, const T* v, T* o, float* lse) const {
    for (int batch = 0; batch < problem.batch; ++batch) matmul_qk(q, k, batch);
    softmax(lse);
    for (int batch = 0; batch < problem.batch; ++batch) matmul_pv(v, o, batch);
  }
};

}  // namespace

std::size_t cublas_unfused_workspace_bytes(const Problem& problem, UnfusedPrecision precision) {
  return Layout(problem, precision).total;
}

void CublasUnfused::HandleDeleter::operator()(cublasContext* handle) const {
  cublasDestroy(handle);
}

void CublasUnfused::DeviceDeleter::operator()(std::byte* memory) const { cudaFree(memory); }

CublasUnfused::CublasUnfused(const Problem& problem, UnfusedPrecision precision)
    : problem_(problem), precision_(precision) {
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "cublasCreate");
  handle_.reset(handle);
  // Default math is without TF32; sums of split k stay in fp32, not in the type of C.
  check(cublasSetMathMode(
            handle, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
        "cublasSetMathMode");
  std::byte* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, workspace_bytes()));
  workspace_.reset(memory);
  CUDA_CHECK(cudaMemset(memory, 0, workspace_bytes()));  // the padding of S is read
}

const float* CublasUnfused::o_fp32() const {
  if (precision_ == UnfusedPrecision::kFp16) return nullptr;
  return reinterpret_cast<const float*>(workspace_.get() + Layout(problem_, precision_).o);
}

void CublasUnfused::forward(const ForwardTensors& tensors, cudaStream_t stream) {
  const Layout layout(problem_, precision_);
  std::byte* const base = workspace_.get();
  check(cublasSetStream(handle_.get(), stream), "cublasSetStream");  // forgets the workspace
  check(cublasSetWorkspace(handle_.get(), base + layout.cublas, kCublasWorkspaceBytes),
        "cublasSetWorkspace");
  const auto* q = reinterpret_cast<const __half*>(tensors.q);
  const auto* k = reinterpret_cast<const __half*>(tensors.k);
  const auto* v = reinterpret_cast<const __half*>(tensors.v);
  auto* o = reinterpret_cast<__half*>(tensors.o);
  if (precision_ == UnfusedPrecision::kFp16) {
    auto* scores = reinterpret_cast<__half*>(base + layout.scores);
    const Unfused<__half> unfused = {handle_.get(), stream, problem_, layout.row_stride, scores};
    unfused.run(q, k, v, o, tensors.lse);
    return;
  }
  const auto part = [&](std::size_t offset) { return reinterpret_cast<float*>(base + offset); };
  const std::size_t q_count = problem_.q_elements(), k_count = problem_.k_elements();
  widen<<<blocks_for(q_count), kCopyThreads, 0, stream>>>(q, part(layout.q), q_count);
  widen<<<blocks_for(k_count), kCopyThreads, 0, stream>>>(k, part(layout.k), k_count);
  widen<<<blocks_for(k_count), kCopyThreads, 0, stream>>>(v, part(layout.v), k_count);
  CUDA_CHECK(cudaGetLastError());
  const Unfused<float> unfused = {handle_.get(), stream, problem_, layout.row_stride,
                                  part(layout.scores)};
  unfused.run(part(layout.q), part(layout.k), part(layout.v), part(layout.o), tensors.lse);
  narrow<<<blocks_for(q_count), kCopyThreads, 0, stream>>>(part(layout.o), o, q_count);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
