#include "kernels/machine/sfu_probe.h"

#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"

namespace sparkbench {
namespace {

constexpr int kThreads = 256;

__device__ float exp2_approx(float x) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ float log2_approx(float x) {
  float result;
  asm("lg2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ float reciprocal_approx(float x) {
  float result;
  asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ float reciprocal_approx_ftz(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// Functions that kernels use go through GpuMachine, as in kernels.
__device__ std::uint32_t evaluate(SpecialFunction function, float x) {
  GpuMachine machine;
  switch (function) {
    case SpecialFunction::kExp2Approx:
      return __float_as_uint(exp2_approx(x));
    case SpecialFunction::kExp2ApproxFtz:
      return __float_as_uint(machine.exp2(x));
    case SpecialFunction::kLog2Approx:
      return __float_as_uint(log2_approx(x));
    case SpecialFunction::kLog2ApproxFtz:
      return __float_as_uint(machine.log2(x));
    case SpecialFunction::kReciprocalApprox:
      return __float_as_uint(reciprocal_approx(x));
    case SpecialFunction::kReciprocalApproxFtz:
      return __float_as_uint(reciprocal_approx_ftz(x));
    case SpecialFunction::kReciprocalRn:
      return __float_as_uint(machine.reciprocal(x));
    case SpecialFunction::kExpfIntrinsic:
      return __float_as_uint(__expf(x));
    case SpecialFunction::kHalfRn:
      return machine.pack_halves(x, 0.0f);
  }
  return 0;
}

__global__ void probe_kernel(SpecialFunction function, const std::uint32_t* inputs,
                             std::uint32_t* results, std::size_t count) {
  const std::size_t index = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index < count) results[index] = evaluate(function, __uint_as_float(inputs[index]));
}

}  // namespace

void probe_special_function(SpecialFunction function, const std::uint32_t* inputs,
                            std::uint32_t* results, std::size_t count) {
  if (count == 0) return;
  const std::size_t bytes = count * sizeof(std::uint32_t);
  const DeviceBuffer device_inputs(bytes);
  const DeviceBuffer device_results(bytes);
  CUDA_CHECK(cudaMemcpy(device_inputs.as<void>(), inputs, bytes, cudaMemcpyHostToDevice));
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  probe_kernel<<<blocks, kThreads>>>(function, device_inputs.as<std::uint32_t>(),
                                     device_results.as<std::uint32_t>(), count);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(results, device_results.as<void>(), bytes, cudaMemcpyDeviceToHost));
}

}  // namespace sparkbench
