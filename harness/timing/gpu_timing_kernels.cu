#include "harness/timing/gpu_timing_kernels.h"
#include "kernels/machine/cuda_check.h"

namespace sparkbench {
namespace {

constexpr unsigned kPollNs = 200;  // between two polls over the bus
constexpr int kTimerSteps = 100;

__device__ std::uint64_t global_timer_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
__device__ std::uint64_t sm_cycles() {
  std::uint64_t cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  return cycles;
}
__device__ unsigned sm_index() {
  unsigned index;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(index));
  return index;
}

/// Until the host releases the ticket, or the time is up.
__device__ void wait_for_host(volatile HoldFlag* flag, std::uint32_t ticket,
                              std::uint64_t limit_ns) {
  const std::uint64_t start_ns = global_timer_ns();
  while (flag->released < ticket) {
    if (global_timer_ns() - start_ns > limit_ns) {
      flag->expired = ticket;
      return;
    }
    __nanosleep(kPollNs);
  }
}

/// One block polls the host's memory, and the others what it writes.
__global__ void hold_kernel(volatile HoldFlag* flag, volatile std::uint32_t* done,
                            std::uint32_t ticket, std::uint64_t limit_ns) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      wait_for_host(flag, ticket, limit_ns);
      *done = ticket;
    }
    while (*done < ticket) __nanosleep(kPollNs);
  }
  __syncthreads();  // threads that wait keep their places in the SM
}

__global__ void stamp_kernel(ClockStamp* stamps, int sm_count) {
  const unsigned sm = sm_index();
  if (sm >= static_cast<unsigned>(sm_count) || atomicExch(&stamps[sm].is_set, 1u) != 0) return;
  stamps[sm].ns = global_timer_ns();
  stamps[sm].cycles = sm_cycles();
}

__global__ void timer_step_kernel(std::uint64_t* ns) {
  std::uint64_t smallest = ~std::uint64_t{0}, last = global_timer_ns();
  for (int step = 0; step < kTimerSteps;) {
    const std::uint64_t now = global_timer_ns();
    if (now == last) continue;
    if (now - last < smallest) smallest = now - last;
    last = now;
    ++step;
  }
  *ns = smallest;
}

__global__ void empty_kernel() {}

}  // namespace

void enqueue_hold(cudaStream_t stream, HoldFlag* flag, std::uint32_t* done, std::uint32_t ticket,
                  std::uint64_t limit_ns) {
  int device = 0, sm_count = 0, threads_per_sm = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(
      cudaDeviceGetAttribute(&threads_per_sm, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  hold_kernel<<<2 * sm_count, threads_per_sm / 2, 0, stream>>>(flag, done, ticket, limit_ns);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_clock_stamps(cudaStream_t stream, ClockStamp* stamps, int sm_count) {
  stamp_kernel<<<2 * sm_count, 1, 0, stream>>>(stamps, sm_count);
  CUDA_CHECK(cudaGetLastError());
}

void enqueue_timer_step(cudaStream_t stream, std::uint64_t* ns) {
  timer_step_kernel<<<1, 1, 0, stream>>>(ns);
  CUDA_CHECK(cudaGetLastError());
}

bool has_code_for_current_gpu() {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, empty_kernel);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction ||
      status == cudaErrorUnsupportedPtxVersion) {
    cudaGetLastError();  // clears the handled error
    return false;
  }
  CUDA_CHECK(status);
  return true;
}

void enqueue_empty_kernel(cudaStream_t stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
