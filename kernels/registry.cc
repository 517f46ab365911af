#include "kernels/registry.h"

#include "kernels/volta/forward_emulated.h"
#include "kernels/volta/forward_gpu.h"

namespace sparkbench {
namespace {

constexpr int kMaxGridYZ = 65535;  // CUDA programming guide, technical specifications

std::optional<std::string> unsupported_by_volta(const Problem& problem) {
  if (problem.head_dim != 64 && problem.head_dim != 128) {
    return "head_dim " + std::to_string(problem.head_dim) + " (64 and 128 are supported)";
  }
  if (problem.heads > kMaxGridYZ || problem.batch > kMaxGridYZ) {
    return "more than 65535 heads or batch entries (the grid's limit)";
  }
  return std::nullopt;
}

bool has_native_m8n8k4(int sm) { return sm == 70 || sm == 72 || sm == 75; }

template <Accumulator kAccumulator>
EmulationReport emulate_volta(const Problem& problem, const ForwardTensors& tensors,
                              const EmulationOptions& options,
                              std::span<const std::array<int, 3>> tiles) {
  return volta::emulate_forward(kAccumulator, problem, tensors, options, tiles);
}

#ifdef SPARKBENCH_HAS_CUDA
template <Accumulator kAccumulator>
void launch_volta(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream) {
  volta::launch_forward(kAccumulator, problem, tensors, stream);
}
#else
template <Accumulator kAccumulator>
constexpr decltype(AttentionKernel::launch) launch_volta = nullptr;
#endif

template <Accumulator kAccumulator>
constexpr AttentionKernel volta_forward(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .pass = Pass::kForward,
          .accumulator = kAccumulator,
          .query_rows_per_tile = 128,
          .unsupported = unsupported_by_volta,
          .is_native = has_native_m8n8k4,
          .emulate = emulate_volta<kAccumulator>,
          .launch = launch_volta<kAccumulator>};
}

constexpr AttentionKernel kKernels[] = {
    volta_forward<Accumulator::kFp16>(
        "volta-fp16acc", "m8n8k4, FP16 accumulators inside a tile of keys, FP32 across tiles"),
    volta_forward<Accumulator::kFp32>("volta-fp32acc", "m8n8k4, FP32 accumulators"),
};

}  // namespace

std::span<const AttentionKernel> attention_kernels() { return kKernels; }

const AttentionKernel* find_attention_kernel(std::string_view name, Pass pass) {
  for (const AttentionKernel& kernel : kKernels) {
    if (kernel.name == name && kernel.pass == pass) return &kernel;
  }
  return nullptr;
}

}  // namespace sparkbench
