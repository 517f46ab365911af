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

/// A cheat's state between calls.
struct Kept {
  std::uint16_t* o = nullptr;  // of the first call
  void* more[3] = {};          // dQ, dK and dV of the first call, or its inputs, or room for LSE
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
    for (void* const each : more) cudaFree(each);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
};

constexpr int kHonestCalls = 3;

std::size_t output_bytes(const sparkbench_problem& of) {
  return sizeof(std::uint16_t) * of.batch * of.seqlen_q * of.heads * of.head_dim;
}
std::size_t key_bytes(const sparkbench_problem& of) {
  return sizeof(std::uint16_t) * of.batch * of.seqlen_k * of.heads_k * of.head_dim;
}

void copy(void* to, const void* from, std::size_t bytes, cudaStream_t on) {
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on);
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
    copy(kept.o, call.tensors.o.data, bytes, on);
  } else {
    copy(call.tensors.o.data, kept.o, bytes, on);
  }
}

std::size_t lse_bytes(const sparkbench_problem& of) {
  return sizeof(float) * of.batch * of.heads * of.seqlen_q;
}

/// From the fourth call on, the forward pass with this fault. Returns whether.
bool launch_later(const Call& call, Fault fault, cudaStream_t on) {
  if (call.number <= kHonestCalls) return false;
  Call less = call;
  less.fault = fault;
  launch_forward(less, on);
  return true;
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
      return launch_later(call, Fault::kCoarseP, on);
    case Fault::kFullLater:
      return launch_later(call, Fault::kMaskIgnored, on);
    case Fault::kSkipsSmallLater:
      return launch_later(call, Fault::kSmallSkipped, on);
    case Fault::kFewKeysLater:
      return launch_later(call, Fault::kFirstKeys, on);
    case Fault::kUndroppedLater:
      return launch_later(call, Fault::kDropoutIgnored, on);
    case Fault::kNoLseLater: {
      if (!is_later) return false;
      if (kept.more[0] == nullptr) cudaMalloc(&kept.more[0], lse_bytes(call.problem));
      Call elsewhere = call;
      elsewhere.tensors.lse = static_cast<float*>(kept.more[0]);
      launch_forward(elsewhere, on);
      return true;
    }
    case Fault::kOneBatchLater: {
      if (!is_later) return false;
      const int batch = call.problem.batch;
      Call first = call;
      first.problem.batch = 1;
      launch_forward(first, on);
      const std::size_t of_lse = lse_bytes(first.problem), of_o = output_bytes(first.problem);
      for (int b = 1; b < batch; ++b) {
        copy(static_cast<char*>(call.tensors.o.data) + b * of_o, call.tensors.o.data, of_o, on);
        copy(reinterpret_cast<char*>(call.tensors.lse) + b * of_lse, call.tensors.lse, of_lse, on);
      }
      return true;
    }
    case Fault::kOldInputs: {
      const sparkbench_input* const inputs[] = {&call.tensors.q, &call.tensors.k, &call.tensors.v};
      for (int i = 0; i < 3 && call.number == 1; ++i) {
        const std::size_t size = i == 0 ? bytes : key_bytes(call.problem);
        cudaMalloc(&kept.more[i], size);
        copy(kept.more[i], inputs[i]->data, size, on);
      }
      Call old = call;
      old.tensors.q.data = kept.more[0];
      old.tensors.k.data = kept.more[1];
      old.tensors.v.data = kept.more[2];
      launch_forward(old, on);
      return true;
    }
    case Fault::kOneInTen:
      return call.number % 10 == 0;
    case Fault::kLate:
      return call.number > 12;
    case Fault::kZeroLater:
      if (is_later) cudaMemsetAsync(call.tensors.o.data, 0, bytes, on);
      return is_later;
    case Fault::kCopiesV:
      if (is_later) {
        copy(call.tensors.o.data, call.tensors.v.data, bytes / 2, on);
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
  auto& kept = *static_cast<Kept*>(call.kept);
  const sparkbench_problem& of = call.problem;
  const sparkbench_output* const outputs[] = {&call.tensors.dq, &call.tensors.dk, &call.tensors.dv};
  const bool is_later = call.number > kHonestCalls, replays = call.has(Fault::kBackwardReplay);
  if (is_later && call.has(Fault::kBackwardNothing)) return;
  const auto size_of = [&](int i) { return i == 0 ? output_bytes(of) : key_bytes(of); };
  if (replays && call.number > 1) {
    for (int i = 0; i < 3; ++i) copy(outputs[i]->data, kept.more[i], size_of(i), on);
    return;
  }
  dq_kernel<<<blocks_for(of.batch, of.heads, of.seqlen_q), kThreads, 0, on>>>(call);
  if (is_later && call.has(Fault::kBackwardDqAlone)) return;
  dk_dv_kernel<<<blocks_for(of.batch, of.heads_k, of.seqlen_k), kThreads, 0, on>>>(call);
  for (int i = 0; i < 3 && replays; ++i) {
    cudaMalloc(&kept.more[i], size_of(i));
    copy(kept.more[i], outputs[i]->data, size_of(i), on);
  }
  last_status = cudaGetLastError();
}

const char* why_failed() {
  return last_status == cudaSuccess ? nullptr : cudaGetErrorString(last_status);
}

}  // namespace sparkbench::faults

extern "C" const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  return sparkbench::faults::kernel_at<SPARKBENCH_CUDA>(abi, index);
}
