#include "kernels/launch/run_gpu.h"

#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/tensor_copy/tensor_map_gpu.h"

namespace sparkbench {
namespace {

/// The shared memory of a block without opt-in (CUDA programming guide, technical specifications).
constexpr int kSharedBytesUnasked = 48 << 10;

dim3 grid_of(const std::array<int, 3>& grid) {
  return {static_cast<unsigned>(grid[0]), static_cast<unsigned>(grid[1]),
          static_cast<unsigned>(grid[2])};
}

int count_sms() {
  int device = 0, sms = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  return sms;
}

void launch(const Step& step, CUstream_st* stream) {
  const KernelInstance& instance = *step.instance;
  if (instance.dynamic_shared_bytes > kSharedBytesUnasked) {
    CUDA_CHECK(cudaFuncSetAttribute(instance.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    instance.dynamic_shared_bytes));
  }
  void* params[] = {const_cast<void*>(step.params.data())};
  CUDA_CHECK(cudaLaunchKernel(instance.function, grid_of(step.grid),
                              dim3(static_cast<unsigned>(instance.threads)), params,
                              static_cast<std::size_t>(instance.dynamic_shared_bytes), stream));
}

}  // namespace

void run_on_stream(const std::vector<Step>& plan, CUstream_st* stream) {
  for (const Step& step : plan) {
    if (step.instance != nullptr) {
      launch(step, stream);
    } else {
      CUDA_CHECK(cudaMemsetAsync(step.zero.first, step.zero.byte, step.zero.bytes, stream));
    }
  }
}

PlanRequest for_current_gpu(PlanRequest request) {
  request.shared_bytes_per_block = shared_bytes_per_block();
  request.sms = count_sms();
#ifdef SPARKBENCH_HAS_HOPPER
  request.encode_map = encode_tensor_map;
#endif
  return request;
}

std::vector<Step> plan_on_gpu(const AttentionKernel& kernel, const PlanRequest& request,
                              void* memory) {
  DeviceWorkspace workspace(memory);
  return kernel.plan(for_current_gpu(request), workspace);
}

}  // namespace sparkbench
