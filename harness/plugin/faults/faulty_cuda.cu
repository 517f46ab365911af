// Faulty kernels, and right ones that differ (faults.h), on a GPU: a thread for each row.
#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "harness/plugin/faults/table.h"

namespace sparkbench::faults {
namespace {

constexpr int kThreads = 64;

cudaError_t last_status = cudaSuccess;

__device__ bool row_of_thread(int batch, int heads, int rows, Row& row) {
  const long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= static_cast<long long>(batch) * heads * rows) return false;
  row = {static_cast<int>(i / rows / heads), static_cast<int>(i / rows % heads),
         static_cast<int>(i % rows)};
  return true;
}

__global__ void forward_kernel(Call call) {
  Row row;
  if (row_of_thread(call.problem.batch, call.problem.heads, call.problem.seqlen_q, row)) {
    forward_row(call, row);
  }
}
__global__ void dq_kernel(Call call) {
  Row row;
  if (row_of_thread(call.problem.batch, call.problem.heads, call.problem.seqlen_q, row)) {
    dq_row(call, row);
  }
}
__global__ void dk_dv_kernel(Call call) {
  Row row;
  if (row_of_thread(call.problem.batch, call.problem.heads_k, call.problem.seqlen_k, row)) {
    dk_dv_row(call, row);
  }
}
__global__ void finish_kernel(Call call) { finish(call); }

unsigned blocks_for(int batch, int heads, int rows) {
  const long long threads = static_cast<long long>(batch) * heads * rows;
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

namespace {

/// A cheat's state between calls.
struct Kept {
  std::uint16_t* o = nullptr;  // of the first call
  std::uint16_t q = 0;         // the first element of its Q
  Call last{};                 // the call before
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;

  Kept() {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  ~Kept() {
    cudaDeviceSynchronize();
    cudaFree(o);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
};

constexpr int kHonestCalls = 3;

std::size_t output_bytes(const sparkbench_problem& of) {
  return sizeof(std::uint16_t) * of.batch * of.seqlen_q * of.heads * of.head_dim;
}

void launch_forward(const Call& call, cudaStream_t on) {
  const sparkbench_problem& of = call.problem;
  forward_kernel<<<blocks_for(of.batch, of.heads, of.seqlen_q), kThreads, 0, on>>>(call);
  finish_kernel<<<1, 1, 0, on>>>(call);
}

/// Copies the O of the first call, which the first call computes.
void replay(const Call& call, Kept& kept, cudaStream_t on) {
  const std::size_t bytes = output_bytes(call.problem);
  if (kept.o == nullptr) {
    cudaMalloc(&kept.o, bytes);
    launch_forward(call, on);
    cudaMemcpyAsync(kept.o, call.tensors.o.data, bytes, cudaMemcpyDefault, on);
  } else {
    cudaMemcpyAsync(call.tensors.o.data, kept.o, bytes, cudaMemcpyDefault, on);
  }
}

/// Whether the call is done with, by a cheat.
bool cheats(const Call& call, Kept& kept, cudaStream_t on) {
  static Kept of_all;  // of whatever problem came first
  const bool is_later = call.number > kHonestCalls;
  const std::size_t bytes = output_bytes(call.problem);
  switch (call.fault) {
    case Fault::kNothingLater:
      return is_later;
    case Fault::kReplay:
      replay(call, kept, on);
      return true;
    case Fault::kInPrepare:
      replay(call, of_all, on);
      return true;
    case Fault::kReplayIfSameQ: {
      std::uint16_t q = 0;
      cudaMemcpy(&q, call.tensors.q.data, sizeof q, cudaMemcpyDefault);
      if (kept.o != nullptr && q != kept.q) return false;
      kept.q = q;
      replay(call, kept, on);
      return true;
    }
    case Fault::kOtherStream:
      launch_forward(call, kept.stream);
      if (!is_later) cudaStreamSynchronize(kept.stream);
      return true;
    case Fault::kForkedStream:
      cudaEventRecord(kept.event, on);
      cudaStreamWaitEvent(kept.stream, kept.event, 0);
      launch_forward(call, kept.stream);
      if (!is_later) cudaStreamSynchronize(kept.stream);
      return true;
    case Fault::kLegacyStream:
      launch_forward(call, cudaStreamLegacy);
      if (!is_later) cudaStreamSynchronize(cudaStreamLegacy);
      return true;
    case Fault::kThread:
      if (!is_later) return false;
      std::thread([call, on] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        launch_forward(call, on);
      }).detach();
      return true;
    case Fault::kDeferred: {
      const Call before = std::exchange(kept.last, call);
      if (is_later) launch_forward(before, on);
      return is_later;
    }
    case Fault::kHalfLater: {
      if (!is_later) return false;
      const sparkbench_problem& of = call.problem;
      const unsigned blocks = blocks_for(of.batch, of.heads, of.seqlen_q);
      forward_kernel<<<(blocks + 1) / 2, kThreads, 0, on>>>(call);
      return true;
    }
    case Fault::kCoarseLater:
    case Fault::kFullLater: {
      if (!is_later) return false;
      Call less = call;
      less.fault = call.fault == Fault::kCoarseLater ? Fault::kCoarseP : Fault::kMaskIgnored;
      launch_forward(less, on);
      return true;
    }
    case Fault::kZeroLater:
      if (is_later) cudaMemsetAsync(call.tensors.o.data, 0, bytes, on);
      return is_later;
    case Fault::kCopiesV:
      if (is_later) {
        cudaMemcpyAsync(call.tensors.o.data, call.tensors.v.data, bytes / 2, cudaMemcpyDefault, on);
      }
      return is_later;
    case Fault::kScalesInput:
      launch_forward(call, on);
      cudaMemsetAsync(const_cast<void*>(call.tensors.k.data), 0, 64, on);
      return true;
    default:
      return false;
  }
}

}  // namespace

std::shared_ptr<void> make_kept() { return std::make_shared<Kept>(); }

void run_forward(const Call& call, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  if (!cheats(call, *static_cast<Kept*>(call.kept), on)) launch_forward(call, on);
  last_status = cudaGetLastError();
}

void run_backward(const Call& call, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const sparkbench_problem& of = call.problem;
  dq_kernel<<<blocks_for(of.batch, of.heads, of.seqlen_q), kThreads, 0, on>>>(call);
  dk_dv_kernel<<<blocks_for(of.batch, of.heads_k, of.seqlen_k), kThreads, 0, on>>>(call);
  last_status = cudaGetLastError();
}

const char* why_failed() {
  return last_status == cudaSuccess ? nullptr : cudaGetErrorString(last_status);
}

}  // namespace sparkbench::faults

extern "C" const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  return sparkbench::faults::kernel_at<SPARKBENCH_CUDA>(abi, index);
}
