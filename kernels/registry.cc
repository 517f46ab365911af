#include "kernels/registry.h"

#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/backward_workspace.h"
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

template <volta::ForwardAccumulators kAccumulators>
EmulationReport emulate_forward(const Problem& problem, const ForwardTensors& tensors,
                                const EmulationOptions& options,
                                std::span<const std::array<int, 3>> tiles) {
  return volta::emulate_forward(kAccumulators, problem, tensors, options, tiles);
}

template <Accumulator kAccumulator>
EmulationReport emulate_backward(const Problem& problem, const BackwardTensors& tensors,
                                 const EmulationOptions& options, bool is_deterministic,
                                 const volta::BackwardSample& sample) {
  return volta::emulate_backward(kAccumulator, problem, tensors, options, is_deterministic, sample);
}

#ifdef SPARKBENCH_HAS_CUDA
template <volta::ForwardAccumulators kAccumulators>
void launch_forward(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream) {
  volta::launch_forward(kAccumulators, problem, tensors, stream);
}

template <Accumulator kAccumulator>
void launch_backward(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                     bool is_deterministic, CUstream_st* stream) {
  volta::launch_backward(kAccumulator, problem, tensors, workspace, is_deterministic, stream);
}

template <volta::ForwardAccumulators kAccumulators>
constexpr ForwardFunctions kForwardFunctions = {emulate_forward<kAccumulators>,
                                                launch_forward<kAccumulators>};
template <Accumulator kAccumulator>
constexpr BackwardFunctions kBackwardFunctions = {
    emulate_backward<kAccumulator>, launch_backward<kAccumulator>, volta::backward_workspace_bytes};
#else
template <volta::ForwardAccumulators kAccumulators>
constexpr ForwardFunctions kForwardFunctions = {emulate_forward<kAccumulators>, nullptr};
template <Accumulator kAccumulator>
constexpr BackwardFunctions kBackwardFunctions = {emulate_backward<kAccumulator>, nullptr,
                                                  volta::backward_workspace_bytes};
#endif

template <volta::ForwardAccumulators kAccumulators>
constexpr AttentionKernel volta_forward_kernel(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .accumulator = kAccumulators.qk,
          .rows_per_tile = 128,
          .unsupported = unsupported_by_volta,
          .is_native = has_native_m8n8k4,
          .forward = kForwardFunctions<kAccumulators>,
          .backward = {}};
}

template <volta::ForwardAccumulators kAccumulators>
constexpr AttentionKernel volta_kernel(std::string_view name, std::string_view summary) {
  AttentionKernel kernel = volta_forward_kernel<kAccumulators>(name, summary);
  kernel.backward = kBackwardFunctions<kAccumulators.qk>;
  return kernel;
}

constexpr AttentionKernel kKernels[] = {
    volta_kernel<volta::kFp16Acc>(
        "volta-fp16acc", "m8n8k4, FP16 accumulators inside a tile of keys, FP32 across tiles"),
    volta_kernel<volta::kFp32Acc>("volta-fp32acc", "m8n8k4, FP32 accumulators"),
    volta_forward_kernel<volta::kMixedAcc>(
        "volta-mixedacc", "m8n8k4, FP16 accumulators of the scores, FP32 of the output"),
    volta_forward_kernel<volta::kFp16AccO16>(
        "volta-fp16acc-o16", "m8n8k4, FP16 accumulators across tiles too, as in the paper"),
};

}  // namespace

std::span<const AttentionKernel> attention_kernels() { return kKernels; }

const AttentionKernel* find_attention_kernel(std::string_view name) {
  for (const AttentionKernel& kernel : kKernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

}  // namespace sparkbench
