#include "harness/run/workers/test_broken_context.h"
#include "kernels/machine/cuda_check.h"

namespace sparkbench {
namespace {

__global__ void write_kernel(int* where) { *where = 1; }

}  // namespace

void break_cuda_context() {
  int* const nowhere = reinterpret_cast<int*>(0x10);
  write_kernel<<<1, 1>>>(nowhere);
  CUDA_CHECK(cudaGetLastError());  // of the launch; later calls see the kernel's error
  cudaDeviceSynchronize();
}

}  // namespace sparkbench
