#include "kernels/hopper/kernel_family.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/hopper/backward_emulated.h"
#include "kernels/hopper/forward_emulated.h"
#include "kernels/hopper/instance_table.h"
#include "kernels/hopper/packed_emulated.h"
#include "kernels/hopper/plan.h"
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

/// A training step has room for either of its passes, which follow each other.
std::uint64_t bytes_of(const PlanRequest& request, Pass pass) {
  if (request.problem.head_dim > kMostHeadDim) return 0;
  const auto of = [&](Pass each) { return plan_bytes(request, each); };
  return pass == Pass::kForwardBackward ? std::max(of(Pass::kForward), of(Pass::kBackward))
                                        : of(pass);
}

std::uint64_t workspace_bytes(const Problem& problem, Pass pass, bool is_deterministic) {
  PlanRequest request{problem, 0};
  request.is_deterministic = is_deterministic;
  return bytes_of(request, pass);
}

/// Totals may be 0, of which neither is a problem's.
std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic) {
  const PackedLengths lengths{batch, nullptr, nullptr};
  PlanRequest request{packed, 0};
  request.is_deterministic = is_deterministic;
  request.lengths = &lengths;
  return bytes_of(request, pass);
}

EmulationReport emulate(const Problem& problem, const ForwardTensors& tensors,
                        const EmulationOptions& options, std::span<const SampleTile> tiles) {
  const auto emulate_whole = [&](const Problem& of, const ForwardTensors& tensors_of,
                                 std::span<const SampleTile> tiles_of) {
    const RowForm form = of.sparse ? RowForm::kBlocks : row_form(of);
    return emulate_forward(of, tensors_of, options, form, tiles_of);
  };
  return has_mask_passes(problem)
             ? emulate_passes_forward(problem, tensors, options, tiles, emulate_whole)
             : emulate_whole(problem, tensors, tiles);
}

EmulationReport emulate_packed(const Problem& packed, const PackedLengths& lengths,
                               const BackwardTensors& tensors, const EmulationOptions& options,
                               bool is_deterministic, const BackwardSample& sample) {
  return emulate_packed_backward(packed, lengths, tensors, options,
                                 packed_dq_form(packed, lengths.batch, is_deterministic), sample);
}

DqForm form_of(const Problem& problem, bool is_deterministic) {
  return problem.sparse ? DqForm::kAlone : dq_form(problem, is_deterministic);
}

EmulationReport emulate(const Problem& problem, const BackwardTensors& tensors,
                        const EmulationOptions& options, bool is_deterministic,
                        const BackwardSample& sample) {
  const auto emulate_whole = [&](const Problem& of, const BackwardTensors& tensors_of,
                                 const BackwardSample& sample_of) {
    return emulate_backward(of, tensors_of, options, form_of(of, is_deterministic), sample_of);
  };
  return has_mask_passes(problem)
             ? emulate_passes_backward(problem, tensors, options, sample, emulate_whole)
             : emulate_whole(problem, tensors, sample);
}

#ifdef SPARKBENCH_HAS_HOPPER
constexpr bool kHasGpuCode = true;
#else
constexpr bool kHasGpuCode = false;
#endif

PatternLists sparse_lists(const Problem& problem, Pass pass, bool /*is_deterministic*/) {
  PatternLists lists;
  const auto add = [&](const Problem& of) {
    for (const SparseListKind& kind : list_kinds(of, pass)) lists.add({*of.sparse, kind});
  };
  if (!has_mask_passes(problem)) {
    add(problem);
    return lists;
  }
  for (const Problem& view : problems_of_views(problem)) {
    lists.begin_view();
    if (view.sparse) add(view);
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
    .packed = {supports, packed_workspace_bytes, emulate_packed_forward, emulate_packed},
    .sparse_lists = sparse_lists,
}};

}  // namespace

KernelFamily kernel_family() { return {.kernels = kKernels, .instances = instances()}; }

}  // namespace sparkbench::hopper
