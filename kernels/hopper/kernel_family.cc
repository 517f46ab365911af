#include "kernels/hopper/kernel_family.h"

#include <string>

#include "kernels/hopper/emulated.h"
#include "kernels/hopper/instance_table.h"
#include "kernels/hopper/plan.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::hopper {
namespace {

constexpr int kMaxGridYZ = 65535;  // CUDA programming guide, technical specifications
constexpr int kMostHeadDim = 256;  // of a tile: instances.h

Support supports(const Problem& problem, const KernelDevice& device, bool /*is_varlen*/) {
  if (!is_native(MmaInstruction::kWgmma, device.sm)) {
    return {"compute capabilities other than 9.0 (the instruction is wgmma)"};
  }
#ifndef SPARKBENCH_HAS_HOPPER
  if (!device.is_emulated) return {"a build without code for sm_90 (CUDA 12.0 or newer makes it)"};
#endif
  if (problem.head_dim % kChunkHalves != 0 || problem.head_dim > kMostHeadDim) {
    return {"head_dim " + std::to_string(problem.head_dim) +
            " (multiples of 8 up to 256 are supported)"};
  }
  if (problem.heads > kMaxGridYZ || problem.batch > kMaxGridYZ) {
    return {"more than 65535 heads or batch entries (the grid's limit)"};
  }
  return {};
}

#ifdef SPARKBENCH_HAS_HOPPER
constexpr bool kHasGpuCode = true;
#else
constexpr bool kHasGpuCode = false;
#endif

constexpr AttentionKernel kKernels[] = {{
    .name = "hopper-fp32acc",
    .summary = "wgmma, FP32 accumulators",
    .accumulator = Accumulator::kFp32,
    .instruction = MmaInstruction::kWgmma,
    .supports = supports,
    .plan = plan,
    .has_gpu_code = kHasGpuCode,
    .emulate = emulate,
    .listed_instances = listed_instances,
}};

}  // namespace

KernelFamily kernel_family() { return {.kernels = kKernels, .instances = instances()}; }

}  // namespace sparkbench::hopper
