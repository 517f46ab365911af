#include "kernels/volta/kernel_family.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/launch/m8n8k4_code.h"
#include "kernels/strided/passes_emulated.h"
#include "kernels/strided/pattern_launches.h"
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

Support supports(const Problem& problem, const KernelDevice& device) {
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

/// SMs of 64 KiB have no instances for packed sequences.
Support supports_packed(const Problem& packed, const KernelDevice& device) {
  if (device.shared_bytes_per_block < kLargeSharedBytes) {
    return {"variable lengths with less than 96 KiB of shared memory a block"};
  }
  return supports(packed, device);
}

template <Accumulator kAccumulator>
std::vector<Step> plan_of(const PlanRequest& request, Workspace& workspace) {
  return plan(kAccumulator, request, workspace);
}

/// On the device, of the two kinds, that takes more. Patterns and varlen problems have instances
/// for 96 KiB only.
template <Accumulator kAccumulator>
std::uint64_t most_bytes(PlanRequest request, Pass pass) {
  std::uint64_t most = 0;
  for (const std::size_t bytes : {kLargeSharedBytes, kLeastSharedBytes}) {
    request.shared_bytes_per_block = bytes;
    most = std::max(most, sparkbench::workspace_bytes(plan_of<kAccumulator>, request, pass));
  }
  return most;
}

template <Accumulator kAccumulator>
std::uint64_t workspace_bytes(const Problem& problem, Pass pass, bool is_deterministic) {
  PlanRequest request{problem, 0};
  request.is_deterministic = is_deterministic;
  return most_bytes<kAccumulator>(request, pass);
}

template <Accumulator kAccumulator>
std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic) {
  const PackedLengths lengths{batch, nullptr, nullptr};
  PlanRequest request{packed, 0};
  request.is_deterministic = is_deterministic;
  request.lengths = &lengths;
  return most_bytes<kAccumulator>(request, pass);
}

/// The lists of a pattern that is not run as strided views, for which instances are for 96 KiB
/// alone.
void add_lists(Accumulator accumulator, const Problem& problem, Pass pass, bool is_deterministic,
               PatternLists& lists) {
  PlanRequest request{problem, kLargeSharedBytes};
  request.is_deterministic = is_deterministic;
  for (const KernelInstance* const instance : listed_instances(accumulator, request, pass)) {
    lists.add({*problem.sparse, list_kind_of(*instance)});
  }
}

template <Accumulator kAccumulator>
PatternLists sparse_lists(const Problem& problem, Pass pass, bool is_deterministic) {
  PatternLists lists;
  if (!has_mask_passes(problem)) {
    add_lists(kAccumulator, problem, pass, is_deterministic, lists);
    return lists;
  }
  for (const Problem& view : problems_of_views(problem)) {
    lists.begin_view();
    if (view.sparse) add_lists(kAccumulator, view, pass, is_deterministic, lists);
  }
  return lists;
}

/// Emulates a pass of a problem that is not run as strided views.
template <Accumulator kAccumulator, class Emulate>
EmulationReport emulate_whole(PlanRequest request, Pass pass, Emulate emulate) {
  PatternLists lists;
  if (request.problem.sparse) {
    add_lists(kAccumulator, request.problem, pass, request.is_deterministic, lists);
  }
  request.lists = &lists;
  return emulate(request);
}

template <Accumulator kAccumulator>
EmulationReport emulate(const Problem& problem, const ForwardTensors& tensors,
                        const EmulationOptions& options, std::span<const SampleTile> tiles) {
  const auto whole = [&](const Problem& of, const ForwardTensors& tensors_of,
                         std::span<const SampleTile> tiles_of) {
    return emulate_whole<kAccumulator>({of, options.shared_bytes_per_block, &tensors_of},
                                       Pass::kForward, [&](const PlanRequest& request) {
                                         return emulate_forward(kAccumulator, request, options,
                                                                tiles_of);
                                       });
  };
  return has_mask_passes(problem) ? emulate_passes_forward(problem, tensors, options, tiles, whole)
                                  : whole(problem, tensors, tiles);
}

template <Accumulator kAccumulator>
EmulationReport emulate(const Problem& problem, const BackwardTensors& tensors,
                        const EmulationOptions& options, bool is_deterministic,
                        const BackwardSample& sample) {
  const auto whole = [&](const Problem& of, const BackwardTensors& tensors_of,
                         const BackwardSample& sample_of) {
    return emulate_whole<kAccumulator>(
        {of, options.shared_bytes_per_block, nullptr, &tensors_of, is_deterministic},
        Pass::kBackward, [&](const PlanRequest& request) {
          return emulate_backward(kAccumulator, request, options, sample_of);
        });
  };
  return has_mask_passes(problem)
             ? emulate_passes_backward(problem, tensors, options, sample, whole)
             : whole(problem, tensors, sample);
}

template <Accumulator kAccumulator>
EmulationReport emulate_packed(const Problem& packed, const PackedLengths& lengths,
                               const ForwardTensors& tensors, const EmulationOptions& options,
                               std::span<const SampleTile> tiles) {
  return emulate_forward(
      kAccumulator, {packed, options.shared_bytes_per_block, &tensors, nullptr, false, &lengths},
      options, tiles);
}

template <Accumulator kAccumulator>
EmulationReport emulate_packed(const Problem& packed, const PackedLengths& lengths,
                               const BackwardTensors& tensors, const EmulationOptions& options,
                               bool is_deterministic, const BackwardSample& sample) {
  return emulate_backward(
      kAccumulator,
      {packed, options.shared_bytes_per_block, nullptr, &tensors, is_deterministic, &lengths},
      options, sample);
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
          .workspace_bytes = workspace_bytes<kAccumulator>,
          .plan = plan_of<kAccumulator>,
          .has_gpu_code = kHasGpuCode,
          .forward = {emulate<kAccumulator>},
          .backward = {emulate<kAccumulator>},
          .packed = {.supports = supports_packed,
                     .workspace_bytes = packed_workspace_bytes<kAccumulator>,
                     .emulate_forward = emulate_packed<kAccumulator>,
                     .emulate_backward = emulate_packed<kAccumulator>},
          .sparse_lists = sparse_lists<kAccumulator>};
}

constexpr AttentionKernel kKernels[] = {
    kernel<Accumulator::kFp16>("volta-fp16acc", "m8n8k4, FP16 accumulators, as in the paper"),
    kernel<Accumulator::kFp32>("volta-fp32acc", "m8n8k4, FP32 accumulators"),
};

}  // namespace

KernelFamily kernel_family() { return {kKernels, instances()}; }

}  // namespace sparkbench::volta
