// Loops that say what is not published of an SM. Their machine code is checked for what they are
// about (.ci/probe_code): on sm_70 an m8n8k4 is four HMMAs with the same operands, of which all but
// the first find A and B in the reuse cache. With fresh operands the first finds neither; with a
// reused A it finds that.
#include "harness/model/calibration/probe_kernels.h"
#include "kernels/machine/cuda_check.h"

namespace sparkbench {
namespace {

constexpr int kChains = 8;     // accumulators: longer than the latency of a product
constexpr int kWarmTurns = 2;  // of a loop before it is timed: its code is in the caches then

__device__ __forceinline__ std::uint64_t cycles_now() {
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}
__device__ __forceinline__ std::uint64_t ns_now() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

/// Runs loop(iterations) twice, first to warm up, and keeps the counters of the second time.
template <class Loop>
__device__ __forceinline__ void time_loop(const ProbeLaunch& launch, Loop loop) {
  ProbeSpan span{};
#pragma unroll 1
  for (int turn = 0; turn < 2; ++turn) {
    __syncthreads();
    span.begin_ns = ns_now();
    span.begin_cycles = cycles_now();
    loop(turn == 0 ? kWarmTurns : launch.iterations);
    span.end_cycles = cycles_now();
    span.end_ns = ns_now();
  }
  asm volatile("mov.u32 %0, %%smid;" : "=r"(span.sm));
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (threadIdx.x % 32 == 0) launch.spans[static_cast<int>(blockIdx.x) * warps + warp] = span;
}

#if __CUDA_ARCH__ >= 750
constexpr int kOperandsA = __CUDA_ARCH__ >= 800 ? 4 : 2, kOperandsB = __CUDA_ARCH__ >= 800 ? 2 : 1;
constexpr int kElements = 4;
#else
constexpr int kOperandsA = 2, kOperandsB = 2, kElements = 8;
#endif

/// c += a b
__device__ __forceinline__ void multiply(float (&c)[kElements],
                                         const std::uint32_t (&a)[kOperandsA],
                                         const std::uint32_t (&b)[kOperandsB]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#elif __CUDA_ARCH__ >= 750
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#else
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
        "+f"(c[7])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
#endif
}

template <ProbeOperands kOperands>
__global__ void __launch_bounds__(2 * kSchedulersPerSm * 32) product_probe(ProbeLaunch launch) {
  std::uint32_t a[kChains][kOperandsA], b[kChains][kOperandsB];
  float c[kChains][kElements] = {};
#pragma unroll
  for (int i = 0; i < kChains; ++i) {
#pragma unroll
    for (int j = 0; j < kOperandsA; ++j) a[i][j] = launch.values[4 * i + j];
#pragma unroll
    for (int j = 0; j < kOperandsB; ++j) b[i][j] = launch.values[32 + 2 * i + j];
  }
  time_loop(launch, [&](int iterations) {
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
      for (int i = 0; i < kProbeProducts; ++i) {
        const int chain = i % kChains;
        multiply(c[chain], a[kOperands == ProbeOperands::kFresh ? chain : 0], b[chain]);
      }
    }
  });
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) {
#pragma unroll
    for (int j = 0; j < kElements; ++j) sum += c[i][j];
  }
  launch.sink[blockIdx.x * blockDim.x + threadIdx.x] = __float_as_uint(sum);
}

/// What the straight-line code computes with.
struct Lanes {
  float x[4], m, n;
  std::uint32_t y[4], k, l;
};

/// Eight instructions, none of which needs one of the three before it. kCopy tells copies apart,
/// which would else be one.
template <int kCopy>
__device__ __forceinline__ void eight_instructions(Lanes& lanes) {
  asm volatile(
      "fma.rn.f32 %0, %0, %8, %9;\n\tlop3.b32 %4, %4, %10, %11, %12;\n\t"
      "fma.rn.f32 %1, %1, %8, %9;\n\tlop3.b32 %5, %5, %10, %11, %12;\n\t"
      "fma.rn.f32 %2, %2, %8, %9;\n\tlop3.b32 %6, %6, %10, %11, %12;\n\t"
      "fma.rn.f32 %3, %3, %8, %9;\n\tlop3.b32 %7, %7, %10, %11, %12;"
      : "+f"(lanes.x[0]), "+f"(lanes.x[1]), "+f"(lanes.x[2]), "+f"(lanes.x[3]), "+r"(lanes.y[0]),
        "+r"(lanes.y[1]), "+r"(lanes.y[2]), "+r"(lanes.y[3])
      : "f"(lanes.m), "f"(lanes.n), "r"(lanes.k), "r"(lanes.l), "n"(kCopy == 0 ? 0xe8 : 0xca));
}

template <int kCopy, int kKib>
__device__ __forceinline__ void straight_code(Lanes& lanes, int iterations) {
#pragma unroll 1
  for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
    for (int i = 0; i < kKib * 1024 / kProbeInstructionBytes / 8; ++i)
      eight_instructions<kCopy>(lanes);
  }
}

template <int kKib>
__global__ void __launch_bounds__(2 * kSchedulersPerSm * 32)
    code_probe(ProbeLaunch launch, bool is_own) {
  Lanes lanes;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    lanes.x[i] = static_cast<float>(launch.values[i]);
    lanes.y[i] = launch.values[4 + i];
  }
  lanes.m = __uint_as_float(launch.values[8]);
  lanes.n = __uint_as_float(launch.values[9]);
  lanes.k = launch.values[10];
  lanes.l = launch.values[11];
  const bool has_copy = is_own && static_cast<int>(threadIdx.x) / 32 >= kSchedulersPerSm;
  time_loop(launch, [&](int iterations) {
    if (has_copy) {
      straight_code<1, kKib>(lanes, iterations);
    } else {
      straight_code<0, kKib>(lanes, iterations);
    }
  });
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += lanes.y[i] + __float_as_uint(lanes.x[i]);
  launch.sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int threads_of(const ProbeLaunch& launch) {
  return 32 * kSchedulersPerSm * launch.warps_per_scheduler;
}

/// The kernel of kCodeKib[size].
template <int kSize>
void enqueue_code_of(cudaStream_t stream, int size, bool is_own, const ProbeLaunch& launch) {
  if constexpr (kSize < static_cast<int>(sizeof kCodeKib / sizeof *kCodeKib)) {
    if (size != kSize) return enqueue_code_of<kSize + 1>(stream, size, is_own, launch);
    code_probe<kCodeKib[kSize]><<<launch.blocks, threads_of(launch), 0, stream>>>(launch, is_own);
    CUDA_CHECK(cudaGetLastError());
  }
}

}  // namespace

void enqueue_product_probe(cudaStream_t stream, ProbeOperands operands, const ProbeLaunch& launch) {
  const auto kernel = operands == ProbeOperands::kFresh ? product_probe<ProbeOperands::kFresh>
                                                        : product_probe<ProbeOperands::kReused>;
  kernel<<<launch.blocks, threads_of(launch), 0, stream>>>(launch);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_code_probe(cudaStream_t stream, int size, bool is_own, const ProbeLaunch& launch) {
  enqueue_code_of<0>(stream, size, is_own, launch);
}

}  // namespace sparkbench
