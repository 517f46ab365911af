#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/gpu.cuh"
#include "kernels/machine/mma_probe.h"

namespace sparkbench {
namespace {

constexpr int kThreads = 128;

__device__ std::uint32_t pair_at(const Half* terms, int k) {
  return terms[k].bits | static_cast<std::uint32_t>(terms[k + 1].bits) << 16;
}

/// Lane 0 holds row 0 of A and column 0 of B of the first quad-pair, whole.
struct M8n8k4 {
  static constexpr int kTerms = 4;
  static constexpr int kMinSm = 70;
  __device__ static MmaProbeResult run(const MmaProbe& probe, int lane) {
    OperandFragment a[1][1] = {}, b[1][1] = {};
    AccumulatorFragment<Accumulator::kFp32> c_f32 = {};
    AccumulatorFragment<Accumulator::kFp16> c_f16 = {};
    if (lane == 0) {
      a[0][0] = {{pair_at(probe.a, 0), pair_at(probe.a, 2)}};
      b[0][0] = {{pair_at(probe.b, 0), pair_at(probe.b, 2)}};
      c_f32.element[0] = probe.c_f32;
      c_f16.pair[0] = probe.c_f16.bits;
    }
    GpuMachine machine;
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({&c_f32}, a, b);
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({&c_f16}, a, b);
    return {c_f32.element[0], Half{static_cast<std::uint16_t>(c_f16.pair[0])}};
  }
};

/// Lanes 0..3 hold row 0 of A and column 0 of B, lane t terms 2t, 2t+1 (and 2t+8, 2t+9).
struct M16n8k8 {
  static constexpr int kTerms = 8;
  static constexpr int kMinSm = 75;
  __device__ static MmaProbeResult run(const MmaProbe& probe, int lane) {
    MmaProbeResult result = {};
#if __CUDA_ARCH__ >= 750
    const std::uint32_t a = lane < 4 ? pair_at(probe.a, 2 * lane) : 0;
    const std::uint32_t b = lane < 4 ? pair_at(probe.b, 2 * lane) : 0;
    float c_f32[4] = {lane == 0 ? probe.c_f32 : 0.0f};
    std::uint32_t c_f16[2] = {lane == 0 ? probe.c_f16.bits : 0u};
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c_f32[0]), "+f"(c_f32[1]), "+f"(c_f32[2]), "+f"(c_f32[3])
        : "r"(a), "r"(0), "r"(b));
    asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
        : "+r"(c_f16[0]), "+r"(c_f16[1])
        : "r"(a), "r"(0), "r"(b));
    result = {c_f32[0], Half{static_cast<std::uint16_t>(c_f16[0])}};
#endif
    return result;
  }
};

struct M16n8k16 {
  static constexpr int kTerms = 16;
  static constexpr int kMinSm = 80;
  __device__ static MmaProbeResult run(const MmaProbe& probe, int lane) {
    m16n8k16::FragmentA a[1][1] = {};
    m16n8k16::FragmentB b[1][1] = {};
    m16n8k16::FragmentC<Accumulator::kFp32> c_f32 = {};
    m16n8k16::FragmentC<Accumulator::kFp16> c_f16 = {};
    if (lane < 4) {
      a[0][0] = {{pair_at(probe.a, 2 * lane), 0, pair_at(probe.a, 2 * lane + 8), 0}};
      b[0][0] = {{pair_at(probe.b, 2 * lane), pair_at(probe.b, 2 * lane + 8)}};
    }
    if (lane == 0) {
      c_f32.element[0] = probe.c_f32;
      c_f16.pair[0] = probe.c_f16.bits;
    }
    GpuMachine machine;
    machine.mma_m16n8k16_outer<Operand::kA>({&c_f32}, a, b);
    machine.mma_m16n8k16_outer<Operand::kA>({&c_f16}, a, b);
    return {c_f32.element[0], Half{static_cast<std::uint16_t>(c_f16.pair[0])}};
  }
};

/// A warp a probe.
template <class Instruction>
__global__ void probe_kernel(const MmaProbe* probes, MmaProbeResult* results, std::size_t count) {
  const std::size_t index = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (index >= count) return;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const MmaProbeResult result = Instruction::run(probes[index], lane);
  if (lane == 0) results[index] = result;
}

template <class Instruction>
void run_probes(const MmaProbe* probes, MmaProbeResult* results, std::size_t count) {
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  if (10 * properties.major + properties.minor < Instruction::kMinSm) {
    throw std::runtime_error(std::string(properties.name) + " has no instruction of " +
                             std::to_string(Instruction::kTerms) + " terms");
  }
  const DeviceBuffer device_probes(count * sizeof(MmaProbe));
  const DeviceBuffer device_results(count * sizeof(MmaProbeResult));
  CUDA_CHECK(cudaMemcpy(device_probes.as<void>(), probes, count * sizeof(MmaProbe),
                        cudaMemcpyHostToDevice));
  constexpr std::size_t kProbesPerBlock = kThreads / 32;
  const auto blocks = static_cast<unsigned>((count + kProbesPerBlock - 1) / kProbesPerBlock);
  probe_kernel<Instruction><<<blocks, kThreads>>>(device_probes.as<MmaProbe>(),
                                                  device_results.as<MmaProbeResult>(), count);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(results, device_results.as<void>(), count * sizeof(MmaProbeResult),
                        cudaMemcpyDeviceToHost));
}

}  // namespace

void probe_mma(int terms, const MmaProbe* probes, MmaProbeResult* results, std::size_t count) {
  if (count == 0) return;
  switch (terms) {
    case 4:
      return run_probes<M8n8k4>(probes, results, count);
    case 8:
      return run_probes<M16n8k8>(probes, results, count);
    case 16:
      return run_probes<M16n8k16>(probes, results, count);
    default:
      throw std::invalid_argument("a probe has 4, 8 or 16 terms, not " + std::to_string(terms));
  }
}

}  // namespace sparkbench
