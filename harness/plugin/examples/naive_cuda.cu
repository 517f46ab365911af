// naive-cuda: attention forward and backward, for sparkbench_kernel.h.
//
//   nvcc -O3 -arch=native -shared -Xcompiler -fPIC -I. -o libnaive_cuda.so
//       harness/plugin/examples/naive_cuda.cu
//   sparkbench sweep --kernel ./libnaive_cuda.so,cublas-fp16
//
// A block computes one row of O, of dQ, or of dK and dV: its threads take a row each of the other
// side, then an element each of head_dim. fp16 and bf16; patterns, varlen sequences and dropout are
// declined.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "harness/plugin/sparkbench_kernel.h"

namespace {

constexpr int kThreads = 128;
constexpr int kMostHeadDim = 256;
constexpr int kDims = kMostHeadDim / kThreads;  // of head_dim, for each thread

/// The upper half of a float. cuda_bf16.h of CUDA 11 converts on sm_80 and later only.
struct Bf16 {
  /// To nearest, ties to even.
  __device__ explicit Bf16(float value) {
    uint32_t word = 0;
    memcpy(&word, &value, sizeof word);
    bits = isnan(value) ? 0x7fff : (word + 0x7fff + (word >> 16 & 1)) >> 16;
  }
  __device__ explicit operator float() const {
    const uint32_t word = uint32_t{bits} << 16;
    float value = 0;
    memcpy(&value, &word, sizeof value);
    return value;
  }
  uint16_t bits;
};

__device__ bool sees(const sparkbench_problem& problem, int q, int k) {
  const int p = q + problem.seqlen_k - problem.seqlen_q;
  if (problem.mask_kind == SPARKBENCH_MASK_PREFIX) return k <= p || k < problem.mask_prefix;
  return (problem.mask_left < 0 || k >= p - problem.mask_left) &&
         (problem.mask_right < 0 || k <= p + problem.mask_right);
}

__device__ int key_head(const sparkbench_problem& p, int h) { return h / (p.heads / p.heads_k); }

__device__ float& lse_of(const sparkbench_problem& problem, const sparkbench_tensors& t, int b,
                         int h, int q) {
  return t.lse[(static_cast<long>(b) * problem.heads + h) * problem.seqlen_q + q];
}

template <class T, class Tensor>
__device__ T* row(const Tensor& t, int b, int s, int h) {
  const long offset = b * t.batch_stride + s * t.seqlen_stride + h * t.head_stride;
  return const_cast<T*>(static_cast<const T*>(t.data)) + offset;
}

template <class T>
__device__ float dot(const T* a, const T* b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<float>(a[i]) * static_cast<float>(b[i]);
  return sum;
}

/// sums[i] += sum over the tile's `count` rows of weight[row] * tensor row, for this thread's dims.
template <class Rows>
__device__ void add_rows(const float* weight, int count, int head_dim, Rows row_of, float* sums) {
  for (int i = 0; i < kDims; ++i) {
    const int d = threadIdx.x + i * kThreads;
    if (d >= head_dim) continue;
    for (int r = 0; r < count; ++r) {
      if (weight[r] != 0) sums[i] += weight[r] * static_cast<float>(row_of(r)[d]);
    }
  }
}

template <class T>
__device__ void write_row(const float* sums, float factor, int head_dim, T* to) {
  for (int i = 0; i < kDims; ++i) {
    const int d = threadIdx.x + i * kThreads;
    if (d < head_dim) to[d] = T(factor * sums[i]);
  }
}

/// Block (q, head, sequence): the online softmax over tiles of kThreads keys.
template <class T>
__global__ void forward_row(sparkbench_problem problem, sparkbench_tensors t) {
  __shared__ float p[kThreads];  // scores of the tile, then exp(score - most)
  const int q = blockIdx.x, h = blockIdx.y, b = blockIdx.z, h_k = key_head(problem, h);
  float o[kDims] = {}, most = -INFINITY, sum = 0;
  for (int first = 0; first < problem.seqlen_k; first += kThreads) {
    const int k = first + threadIdx.x, count = min(kThreads, problem.seqlen_k - first);
    const bool is_seen = k < problem.seqlen_k && sees(problem, q, k);
    const float s = is_seen ? problem.softmax_scale * dot(row<T>(t.q, b, q, h),
                                                          row<T>(t.k, b, k, h_k), problem.head_dim)
                            : -INFINITY;
    p[threadIdx.x] = s;
    __syncthreads();
    const float last_most = most;
    for (float score : p) most = fmaxf(most, score);
    __syncthreads();
    if (most == -INFINITY) continue;  // no key yet: the same for all threads
    p[threadIdx.x] = expf(s - most);
    __syncthreads();
    const float rescale = expf(last_most - most);
    sum *= rescale;
    for (float weight : p) sum += weight;
    for (float& each : o) each *= rescale;
    add_rows(
        p, count, problem.head_dim, [&](int r) { return row<T>(t.v, b, first + r, h_k); }, o);
    __syncthreads();
  }
  write_row(o, sum > 0 ? 1 / sum : 0.0f, problem.head_dim, row<T>(t.o, b, q, h));
  if (threadIdx.x == 0) lse_of(problem, t, b, h, q) = most + logf(sum);  // -inf without a key
}

/// P of one pair, and dS = P (dO V^T - rowsum(dO O)).
template <class T>
__device__ float2 pair_gradient(const sparkbench_problem& problem, const sparkbench_tensors& t,
                                int b, int h, int q, int k) {
  if (q >= problem.seqlen_q || k >= problem.seqlen_k || !sees(problem, q, k)) return {0, 0};
  const int n = problem.head_dim, h_k = key_head(problem, h);
  const T* d_o = row<T>(t.d_o, b, q, h);
  const float s = problem.softmax_scale * dot(row<T>(t.q, b, q, h), row<T>(t.k, b, k, h_k), n);
  const float p = expf(s - lse_of(problem, t, b, h, q));
  return {p, p * (dot(d_o, row<T>(t.v, b, k, h_k), n) - dot(d_o, row<T>(t.o, b, q, h), n))};
}

/// Block (q, head, sequence).
template <class T>
__global__ void dq_row(sparkbench_problem problem, sparkbench_tensors t) {
  __shared__ float ds[kThreads];
  const int q = blockIdx.x, h = blockIdx.y, b = blockIdx.z, h_k = key_head(problem, h);
  float dq[kDims] = {};
  for (int first = 0; first < problem.seqlen_k; first += kThreads) {
    ds[threadIdx.x] = pair_gradient<T>(problem, t, b, h, q, first + threadIdx.x).y;
    __syncthreads();
    add_rows(
        ds, min(kThreads, problem.seqlen_k - first), problem.head_dim,
        [&](int r) { return row<T>(t.k, b, first + r, h_k); }, dq);
    __syncthreads();
  }
  write_row(dq, problem.softmax_scale, problem.head_dim, row<T>(t.dq, b, q, h));
}

/// Block (k, key head, sequence): sums over the query heads that read the key head.
template <class T>
__global__ void dkv_row(sparkbench_problem problem, sparkbench_tensors t) {
  __shared__ float p[kThreads], ds[kThreads];
  const int k = blockIdx.x, h_k = blockIdx.y, b = blockIdx.z,
            group = problem.heads / problem.heads_k;
  float dk[kDims] = {}, dv[kDims] = {};
  for (int h = h_k * group; h < (h_k + 1) * group; ++h) {
    for (int first = 0; first < problem.seqlen_q; first += kThreads) {
      const float2 pair = pair_gradient<T>(problem, t, b, h, first + threadIdx.x, k);
      p[threadIdx.x] = pair.x;
      ds[threadIdx.x] = pair.y;
      __syncthreads();
      const int count = min(kThreads, problem.seqlen_q - first);
      add_rows(
          p, count, problem.head_dim, [&](int r) { return row<T>(t.d_o, b, first + r, h); }, dv);
      add_rows(
          ds, count, problem.head_dim, [&](int r) { return row<T>(t.q, b, first + r, h); }, dk);
      __syncthreads();
    }
  }
  write_row(dk, problem.softmax_scale, problem.head_dim, row<T>(t.dk, b, k, h_k));
  write_row(dv, 1.0f, problem.head_dim, row<T>(t.dv, b, k, h_k));
}

const char* why = nullptr;  // the last call failed

int32_t status_of(cudaError_t error) {
  if (error == cudaSuccess) return SPARKBENCH_OK;
  why = cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? SPARKBENCH_OUT_OF_MEMORY : SPARKBENCH_ERROR;
}

const char* supports(const sparkbench_problem* p) {
  if (p->head_dim > kMostHeadDim) return "head_dim above 256 is not supported";
  if (p->mask_kind == SPARKBENCH_MASK_PATTERN) return "patterns are not supported";
  if (p->cu_seqlens_q != nullptr) return "varlen sequences are not supported";
  return p->dropout_p > 0 ? "dropout is not supported" : nullptr;
}

int32_t prepare(const sparkbench_problem* problem, void*, void*, void** plan) {
  *plan = const_cast<sparkbench_problem*>(problem);  // it is valid until destroy()
  return SPARKBENCH_OK;
}

template <class T>
void launch_forward(const sparkbench_problem& p, const sparkbench_tensors& t, cudaStream_t stream) {
  forward_row<T><<<dim3(p.seqlen_q, p.heads, p.batch), kThreads, 0, stream>>>(p, t);
}

template <class T>
void launch_backward(const sparkbench_problem& p, const sparkbench_tensors& t,
                     cudaStream_t stream) {
  dq_row<T><<<dim3(p.seqlen_q, p.heads, p.batch), kThreads, 0, stream>>>(p, t);
  dkv_row<T><<<dim3(p.seqlen_k, p.heads_k, p.batch), kThreads, 0, stream>>>(p, t);
}

int32_t forward(void* plan, const sparkbench_tensors* tensors, void* stream) {
  const auto& p = *static_cast<const sparkbench_problem*>(plan);
  const auto launch = p.dtype == SPARKBENCH_FP16 ? launch_forward<__half> : launch_forward<Bf16>;
  launch(p, *tensors, static_cast<cudaStream_t>(stream));
  return status_of(cudaGetLastError());
}

int32_t backward(void* plan, const sparkbench_tensors* tensors, void* stream) {
  const auto& p = *static_cast<const sparkbench_problem*>(plan);
  const auto launch = p.dtype == SPARKBENCH_FP16 ? launch_backward<__half> : launch_backward<Bf16>;
  launch(p, *tensors, static_cast<cudaStream_t>(stream));
  return status_of(cudaGetLastError());
}

const char* last_error() { return why; }

constexpr sparkbench_kernel kKernel = {
    .struct_bytes = sizeof(sparkbench_kernel),
    .name = "naive-cuda",
    .summary = "a block for each row, no tensor cores",
    .version = "1.0",
    .backend = SPARKBENCH_CUDA,
    .accumulator = SPARKBENCH_ACC_FP32,
    .supports = supports,
    .prepare = prepare,
    .forward = forward,
    .backward = backward,
    .last_error = last_error,
    .dtypes = SPARKBENCH_TAKES(SPARKBENCH_FP16) | SPARKBENCH_TAKES(SPARKBENCH_BF16)};

}  // namespace

const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  return abi == SPARKBENCH_KERNEL_ABI && index == 0 ? &kKernel : nullptr;
}
