#include "kernels/hopper/kernel_family.h"

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/hopper/emulated.h"
#include "kernels/hopper/instance_table.h"
#include "kernels/hopper/plan.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/strided/passes_emulated.h"
#include "kernels/strided/pattern_launches.h"

namespace sparkbench::hopper {
namespace {

constexpr int kMaxGridYZ = 65535;  // CUDA programming guide, technical specifications
constexpr int kMostHeadDim = 256;  // of a tile: instances.h

Support supports(const Problem& problem, const KernelDevice& device) {
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

std::uint64_t workspace_bytes(const Problem& problem, Pass pass, bool is_deterministic) {
  PlanRequest request{problem, 0};
  request.is_deterministic = is_deterministic;
  return sparkbench::workspace_bytes(plan, request, pass);
}

/// Totals may be 0, of which neither is a problem's.
std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic) {
  const PackedLengths lengths{batch, nullptr, nullptr};
  PlanRequest request{packed, 0};
  request.is_deterministic = is_deterministic;
  request.lengths = &lengths;
  return sparkbench::workspace_bytes(plan, request, pass);
}

void add_lists(const Problem& problem, Pass pass, PatternLists& lists) {
  for (const SparseListKind& kind : list_kinds(problem, pass)) lists.add({*problem.sparse, kind});
}

/// Emulates a pass of a problem that is not run as strided views.
template <class Emulate>
EmulationReport emulate_whole(const PlanRequest& request, const EmulationOptions& options,
                              Emulate emulate) {
  PlanRequest made = for_emulated_device(request, options);
  PatternLists lists;
  if (request.problem.sparse) {
    add_lists(request.problem, request.forward != nullptr ? Pass::kForward : Pass::kBackward,
              lists);
  }
  made.lists = &lists;
  return emulate(made);
}

EmulationReport emulate(const Problem& problem, const ForwardTensors& tensors,
                        const EmulationOptions& options, std::span<const SampleTile> tiles) {
  const auto whole = [&](const Problem& of, const ForwardTensors& tensors_of,
                         std::span<const SampleTile> tiles_of) {
    return emulate_whole(forward_request(of, tensors_of), options, [&](const PlanRequest& request) {
      return emulate_forward(request, options, tiles_of);
    });
  };
  return has_mask_passes(problem) ? emulate_passes_forward(problem, tensors, options, tiles, whole)
                                  : whole(problem, tensors, tiles);
}

EmulationReport emulate(const Problem& problem, const BackwardTensors& tensors,
                        const EmulationOptions& options, bool is_deterministic,
                        const BackwardSample& sample) {
  const auto whole = [&](const Problem& of, const BackwardTensors& tensors_of,
                         const BackwardSample& sample_of) {
    return emulate_whole(
        backward_request(of, tensors_of, is_deterministic), options,
        [&](const PlanRequest& request) { return emulate_backward(request, options, sample_of); });
  };
  return has_mask_passes(problem)
             ? emulate_passes_backward(problem, tensors, options, sample, whole)
             : whole(problem, tensors, sample);
}

EmulationReport emulate_packed(const Problem& packed, const PackedLengths& lengths,
                               const ForwardTensors& tensors, const EmulationOptions& options,
                               std::span<const SampleTile> tiles) {
  PlanRequest request = for_emulated_device(forward_request(packed, tensors), options);
  request.lengths = &lengths;
  return emulate_forward(request, options, tiles);
}

EmulationReport emulate_packed(const Problem& packed, const PackedLengths& lengths,
                               const BackwardTensors& tensors, const EmulationOptions& options,
                               bool is_deterministic, const BackwardSample& sample) {
  PlanRequest request =
      for_emulated_device(backward_request(packed, tensors, is_deterministic), options);
  request.lengths = &lengths;
  return emulate_backward(request, options, sample);
}

#ifdef SPARKBENCH_HAS_HOPPER
constexpr bool kHasGpuCode = true;
#else
constexpr bool kHasGpuCode = false;
#endif

PatternLists sparse_lists(const Problem& problem, Pass pass, bool /*is_deterministic*/) {
  PatternLists lists;
  if (!has_mask_passes(problem)) {
    add_lists(problem, pass, lists);
    return lists;
  }
  for (const Problem& view : problems_of_views(problem)) {
    lists.begin_view();
    if (view.sparse) add_lists(view, pass, lists);
  }
  return lists;
}

constexpr AttentionKernel kKernels[] = {{
    .name = "hopper-fp32acc",
    .summary = "wgmma, FP32 accumulators",
    .accumulator = Accumulator::kFp32,
    .instruction = MmaInstruction::kWgmma,
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .plan = plan,
    .has_gpu_code = kHasGpuCode,
    .forward = {emulate},
    .backward = {emulate},
    .packed = {supports, packed_workspace_bytes, emulate_packed, emulate_packed},
    .sparse_lists = sparse_lists,
}};

}  // namespace

KernelFamily kernel_family() { return {.kernels = kKernels, .instances = instances()}; }

}  // namespace sparkbench::hopper
