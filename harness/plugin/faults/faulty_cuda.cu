// Faulty kernels, and right ones that differ (faults.h), on a GPU: a thread for each row.
#include <cuda_runtime.h>

#include <iterator>

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

void run_forward(const Call& call, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const sparkbench_problem& of = call.problem;
  forward_kernel<<<blocks_for(of.batch, of.heads, of.seqlen_q), kThreads, 0, on>>>(call);
  finish_kernel<<<1, 1, 0, on>>>(call);
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
