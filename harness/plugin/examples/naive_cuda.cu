// naive-cuda: attention forward and backward, for sparkbench_kernel.h. Written to be read, and
// copied; README.md beside the header shows its end.
//
//   nvcc -O3 -arch=native -shared -Xcompiler -fPIC -I. -o libnaive_cuda.so
//       harness/plugin/examples/naive_cuda.cu
//   sparkbench sweep --kernel ./libnaive_cuda.so,cublas-fp16
//
// A block computes one row of O, of dQ, or of dK and dV: its threads share the other side's rows,
// then head_dim. Masks are bounds; patterns, varlen sequences and dropout are declined.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "harness/plugin/sparkbench_kernel.h"

namespace {

constexpr int kThreads = 128;
constexpr int kMostHeadDim = 256;
constexpr int kDims = kMostHeadDim / kThreads;  // of head_dim, for each thread

struct Plan {
  int batch, heads, heads_k, seqlen_q, seqlen_k, head_dim;
  float scale;
  bool has_prefix;
  int left, right, prefix;

  __device__ int key_head(int head) const { return head / (heads / heads_k); }
  __device__ bool sees(int q, int k) const {
    const int p = q + seqlen_k - seqlen_q;
    if (has_prefix) return k <= p || k < prefix;
    return (left < 0 || k >= p - left) && (right < 0 || k <= p + right);
  }
  __device__ long lse_index(int b, int h, int q) const {
    return (static_cast<long>(b) * heads + h) * seqlen_q + q;
  }
};

template <class Tensor>
__device__ auto row(const Tensor& t, int b, int s, int h) {
  const long offset = b * t.batch_stride + s * t.seqlen_stride + h * t.head_stride;
  return static_cast<const __half*>(t.data) + offset;
}
__device__ __half* row_to_write(const sparkbench_output& t, int b, int s, int h) {
  return const_cast<__half*>(row(t, b, s, h));
}

__device__ float dot(const __half* a, const __half* b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += __half2float(a[i]) * __half2float(b[i]);
  return sum;
}

/// Over the block's threads; all get it.
template <class Combine>
__device__ float reduce(float value, Combine combine) {
  __shared__ float partial[kThreads];
  __syncthreads();
  partial[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      partial[threadIdx.x] = combine(partial[threadIdx.x], partial[threadIdx.x + half]);
    }
  }
  __syncthreads();
  return partial[0];
}

/// sums[i] += sum over the tile's `count` rows of weight[row] * tensor row, for this thread's dims.
template <class Rows>
__device__ void add_rows(const float* weight, int count, int head_dim, Rows row_of, float* sums) {
  for (int i = 0; i < kDims; ++i) {
    const int d = threadIdx.x + i * kThreads;
    if (d >= head_dim) continue;
    for (int r = 0; r < count; ++r) {
      if (weight[r] != 0) sums[i] += weight[r] * __half2float(row_of(r)[d]);
    }
  }
}

__device__ void write_row(const float* sums, float factor, int head_dim, __half* to) {
  for (int i = 0; i < kDims; ++i) {
    const int d = threadIdx.x + i * kThreads;
    if (d < head_dim) to[d] = __float2half(factor * sums[i]);
  }
}

/// Block (q, head, sequence): the online softmax over tiles of kThreads keys.
__global__ void forward_row(Plan plan, sparkbench_tensors t) {
  __shared__ float p[kThreads];
  const int q = blockIdx.x, h = blockIdx.y, b = blockIdx.z, h_k = plan.key_head(h);
  float o[kDims] = {}, most = -INFINITY, sum = 0;
  for (int first = 0; first < plan.seqlen_k; first += kThreads) {
    const int k = first + threadIdx.x;
    const bool is_seen = k < plan.seqlen_k && plan.sees(q, k);
    const float s = is_seen
                        ? plan.scale * dot(row(t.q, b, q, h), row(t.k, b, k, h_k), plan.head_dim)
                        : -INFINITY;
    const float tile_most = reduce(s, [](float x, float y) { return fmaxf(x, y); });
    const float new_most = fmaxf(most, tile_most);
    if (new_most == -INFINITY) continue;  // no key yet: the same for all threads
    const float rescale = expf(most - new_most);
    most = new_most;
    p[threadIdx.x] = is_seen ? expf(s - most) : 0.0f;
    sum = sum * rescale + reduce(p[threadIdx.x], [](float x, float y) { return x + y; });
    for (float& each : o) each *= rescale;
    add_rows(
        p, min(kThreads, plan.seqlen_k - first), plan.head_dim,
        [&](int r) { return row(t.v, b, first + r, h_k); }, o);
    __syncthreads();
  }
  write_row(o, sum > 0 ? 1 / sum : 0.0f, plan.head_dim, row_to_write(t.o, b, q, h));
  if (threadIdx.x == 0) t.lse[plan.lse_index(b, h, q)] = sum > 0 ? most + logf(sum) : -INFINITY;
}

/// P of one pair, and dS = P (dO V^T - rowsum(dO O)).
struct PairGradient {
  float p, ds;
};
__device__ PairGradient pair_gradient(const Plan& plan, const sparkbench_tensors& t, int b, int h,
                                      int q, int k) {
  if (q >= plan.seqlen_q || k >= plan.seqlen_k || !plan.sees(q, k)) return {0, 0};
  const int n = plan.head_dim, h_k = plan.key_head(h);
  const __half* d_o = row(t.d_o, b, q, h);
  const float s = plan.scale * dot(row(t.q, b, q, h), row(t.k, b, k, h_k), n);
  const float p = expf(s - t.lse[plan.lse_index(b, h, q)]);
  return {p, p * (dot(d_o, row(t.v, b, k, h_k), n) - dot(d_o, row(t.o, b, q, h), n))};
}

/// Block (q, head, sequence).
__global__ void dq_row(Plan plan, sparkbench_tensors t) {
  __shared__ float ds[kThreads];
  const int q = blockIdx.x, h = blockIdx.y, b = blockIdx.z, h_k = plan.key_head(h);
  float dq[kDims] = {};
  for (int first = 0; first < plan.seqlen_k; first += kThreads) {
    ds[threadIdx.x] = pair_gradient(plan, t, b, h, q, first + threadIdx.x).ds;
    __syncthreads();
    add_rows(
        ds, min(kThreads, plan.seqlen_k - first), plan.head_dim,
        [&](int r) { return row(t.k, b, first + r, h_k); }, dq);
    __syncthreads();
  }
  write_row(dq, plan.scale, plan.head_dim, row_to_write(t.dq, b, q, h));
}

/// Block (k, key head, sequence): sums over the query heads that read the key head.
__global__ void dkv_row(Plan plan, sparkbench_tensors t) {
  __shared__ float p[kThreads], ds[kThreads];
  const int k = blockIdx.x, h_k = blockIdx.y, b = blockIdx.z, group = plan.heads / plan.heads_k;
  float dk[kDims] = {}, dv[kDims] = {};
  for (int h = h_k * group; h < (h_k + 1) * group; ++h) {
    for (int first = 0; first < plan.seqlen_q; first += kThreads) {
      const PairGradient pair = pair_gradient(plan, t, b, h, first + threadIdx.x, k);
      p[threadIdx.x] = pair.p;
      ds[threadIdx.x] = pair.ds;
      __syncthreads();
      const int count = min(kThreads, plan.seqlen_q - first);
      add_rows(
          p, count, plan.head_dim, [&](int r) { return row(t.d_o, b, first + r, h); }, dv);
      add_rows(
          ds, count, plan.head_dim, [&](int r) { return row(t.q, b, first + r, h); }, dk);
      __syncthreads();
    }
  }
  write_row(dk, plan.scale, plan.head_dim, row_to_write(t.dk, b, k, h_k));
  write_row(dv, 1.0f, plan.head_dim, row_to_write(t.dv, b, k, h_k));
}

const char* why = nullptr;  // the last call failed

int32_t status_of(cudaError_t error) {
  if (error == cudaSuccess) return SPARKBENCH_OK;
  why = cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? SPARKBENCH_OUT_OF_MEMORY : SPARKBENCH_ERROR;
}

const char* supports(const sparkbench_problem* p) {
  if (p->dtype != SPARKBENCH_FP16) return "only fp16 is supported";
  if (p->head_dim > kMostHeadDim) return "head_dim above 256 is not supported";
  if (p->mask_kind == SPARKBENCH_MASK_PATTERN) return "patterns are not supported";
  if (p->cu_seqlens_q != nullptr) return "varlen sequences are not supported";
  return p->dropout_p > 0 ? "dropout is not supported" : nullptr;
}

int32_t prepare(const sparkbench_problem* p, void*, void*, void** plan) {
  *plan = new Plan{
      p->batch,     p->heads,      p->heads_k,       p->seqlen_q,
      p->seqlen_k,  p->head_dim,   p->softmax_scale, p->mask_kind == SPARKBENCH_MASK_PREFIX,
      p->mask_left, p->mask_right, p->mask_prefix};
  return SPARKBENCH_OK;
}

int32_t forward(void* plan, const sparkbench_tensors* tensors, void* stream) {
  const Plan& p = *static_cast<Plan*>(plan);
  const dim3 rows(p.seqlen_q, p.heads, p.batch);
  forward_row<<<rows, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(p, *tensors);
  return status_of(cudaGetLastError());
}

int32_t backward(void* plan, const sparkbench_tensors* tensors, void* stream) {
  const Plan& p = *static_cast<Plan*>(plan);
  const dim3 queries(p.seqlen_q, p.heads, p.batch), keys(p.seqlen_k, p.heads_k, p.batch);
  dq_row<<<queries, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(p, *tensors);
  dkv_row<<<keys, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(p, *tensors);
  return status_of(cudaGetLastError());
}

sparkbench_kernel table() {
  sparkbench_kernel kernel{};
  kernel.struct_bytes = sizeof kernel;
  kernel.name = "naive-cuda";
  kernel.summary = "a block for each row, no tensor cores";
  kernel.version = "1.0";
  kernel.backend = SPARKBENCH_CUDA;
  kernel.accumulator = SPARKBENCH_ACC_FP32;
  kernel.supports = supports;
  kernel.prepare = prepare;
  kernel.forward = forward;
  kernel.backward = backward;
  kernel.destroy = [](void* plan) { delete static_cast<Plan*>(plan); };
  kernel.last_error = [] { return why; };
  return kernel;
}

}  // namespace

const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  static const sparkbench_kernel kernel = table();
  return abi == SPARKBENCH_KERNEL_ABI && index == 0 ? &kernel : nullptr;
}
