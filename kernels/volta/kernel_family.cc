#include "kernels/volta/kernel_family.h"

#include <cstddef>
#include <string>
#include <utility>

#include "kernels/launch/m8n8k4_code.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/volta/emulated.h"
#include "kernels/volta/instance_table.h"
#include "kernels/volta/plan.h"

namespace sparkbench::volta {
namespace {

constexpr int kMaxGridYZ = 65535;  // CUDA programming guide, technical specifications
constexpr int kMostHeadDim = 256;  // of a tile: instances.h
constexpr int kMostHeadDimOf64KiB = 128;
constexpr std::size_t kLeastSharedBytes = std::size_t{64} << 10;  // of a block: instances.h
constexpr std::size_t kLargeSharedBytes = std::size_t{96} << 10;  // of a block: Volta's

/// SMs of 64 KiB have no instances for varlen sequences.
Support supports(const Problem& problem, const KernelDevice& device, bool is_varlen) {
  if (is_varlen && device.shared_bytes_per_block < kLargeSharedBytes) {
    return {"variable lengths with less than 96 KiB of shared memory a block"};
  }
  if (device.sm < traits_of(MmaInstruction::kM8n8k4).first_sm) {
    return {"compute capabilities below 7.0"};
  }
  if (std::string why = why_no_code(device); !why.empty()) return {std::move(why)};
  if (device.shared_bytes_per_block < kLeastSharedBytes) {
    return {"blocks of less than 64 KiB of shared memory"};
  }
  if (problem.head_dim % kChunkHalves != 0 || problem.head_dim > kMostHeadDim) {
    return {"head_dim " + std::to_string(problem.head_dim) +
            " (multiples of 8 up to 256 are supported)"};
  }
  if (problem.head_dim > kMostHeadDimOf64KiB && device.shared_bytes_per_block < kLargeSharedBytes) {
    return {"head_dim " + std::to_string(problem.head_dim) +
            " with less than 96 KiB of shared memory a block (multiples of 8 up to 128 are "
            "supported)"};
  }
  if (problem.sparse && device.shared_bytes_per_block < kLargeSharedBytes) {
    return {"a pattern with less than 96 KiB of shared memory a block"};
  }
  if (problem.heads > kMaxGridYZ || problem.batch > kMaxGridYZ) {
    return {"more than 65535 heads or batch entries (the grid's limit)"};
  }
  return {};
}

template <Accumulator kAccumulator>
std::vector<Step> plan_of(const PlanRequest& request, Workspace& workspace) {
  return plan(kAccumulator, request, workspace);
}

template <Accumulator kAccumulator>
std::vector<const KernelInstance*> listed_instances_of(const PlanRequest& request, Pass pass) {
  return listed_instances(kAccumulator, request, pass);
}

template <Accumulator kAccumulator>
EmulationReport emulate(const PlanRequest& request, const EmulationOptions& options,
                        const BackwardSample& sample) {
  return request.forward != nullptr
             ? emulate_forward(kAccumulator, request, options, sample.query_tiles)
             : emulate_backward(kAccumulator, request, options, sample);
}

#ifdef SPARKBENCH_HAS_VOLTA
constexpr bool kHasGpuCode = true;
#else
constexpr bool kHasGpuCode = false;
#endif

template <Accumulator kAccumulator>
constexpr AttentionKernel kernel(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .accumulator = kAccumulator,
          .instruction = MmaInstruction::kM8n8k4,
          .supports = supports,
          .plan = plan_of<kAccumulator>,
          .has_gpu_code = kHasGpuCode,
          .emulate = emulate<kAccumulator>,
          .listed_instances = listed_instances_of<kAccumulator>};
}

constexpr AttentionKernel kKernels[] = {
    kernel<Accumulator::kFp16>("volta-fp16acc", "m8n8k4, FP16 accumulators, as in the paper"),
    kernel<Accumulator::kFp32>("volta-fp32acc", "m8n8k4, FP32 accumulators"),
};

}  // namespace

KernelFamily kernel_family() { return {kKernels, instances()}; }

}  // namespace sparkbench::volta
