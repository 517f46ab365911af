#include "kernels/hopper/kernel_family.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/forward_emulated.h"
#include "kernels/hopper/forward_gpu.h"
#include "kernels/passes_emulated.h"
#include "kernels/passes_gpu.h"
#include "kernels/pattern_lists.h"
#include "kernels/pattern_parts.h"

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

SparseListKind list_kind(const Problem& problem) {
  SparseListKind kind{};
  visit_forward<true>(problem,
                      [&](auto row, auto /*id*/) { kind = kSparseForward<decltype(row)>; });
  return kind;
}

/// Of what blocks that share rows of a pattern store.
std::uint64_t parts_bytes(const Problem& problem) {
  const Problem dense = without_pattern(problem);
  return ForwardPartsWorkspace(dense, rows_of_parts(*problem.sparse, list_kind(problem)).stored)
      .bytes;
}

/// Of a pattern that is run as passes. Launches follow each other, and share what is theirs.
PassesWorkspace passes_workspace(const Problem& problem) {
  std::uint64_t most = 0;
  for (const Problem& view : problems_of_views(problem)) {
    if (view.sparse) most = std::max(most, parts_bytes(view));
  }
  return {problem, Pass::kForward, most};
}

std::uint64_t workspace_bytes(const Problem& problem, Pass /*pass*/, bool /*is_deterministic*/) {
  if (!problem.sparse || problem.head_dim > kMostHeadDim) return 0;
  return has_mask_passes(problem) ? passes_workspace(problem).bytes : parts_bytes(problem);
}

EmulationReport emulate(const Problem& problem, const ForwardTensors& tensors,
                        const EmulationOptions& options, std::span<const SampleTile> tiles) {
  if (!has_mask_passes(problem)) return emulate_forward(problem, tensors, options, tiles);
  return emulate_passes_forward(
      problem, tensors, options, tiles,
      [&](const Problem& view, const ForwardTensors& of_view, std::span<const SampleTile> own) {
        return emulate_forward(view, of_view, options, own);
      });
}

PatternLists sparse_lists(const Problem& problem, Pass /*pass*/, bool /*is_deterministic*/) {
  PatternLists lists;
  if (!has_mask_passes(problem)) {
    lists.add({*problem.sparse, list_kind(problem)});
    return lists;
  }
  for (const Problem& view : problems_of_views(problem)) {
    lists.begin_view();
    if (view.sparse) lists.add({*view.sparse, list_kind(view)});
  }
  return lists;
}

#ifdef SPARKBENCH_HAS_HOPPER
void launch_sparse(const Problem& problem, const ForwardTensors& tensors, void* workspace,
                   const PatternLists& lists, const void* memory, CUstream_st* stream) {
  if (!has_mask_passes(problem)) {
    return launch_sparse_forward(problem, tensors, workspace, lists, 0, memory, stream);
  }
  launch_passes_forward(
      problem, tensors, workspace, passes_workspace(problem),
      [&](const ViewLaunch& view, const ForwardTensors& of_view, void* own) {
        if (!view.problem.sparse) return launch_forward(view.problem, of_view, stream);
        launch_sparse_forward(view.problem, of_view, own, lists, lists.first_of_view(view.view),
                              memory, stream);
      },
      stream);
}

constexpr auto kLaunch = launch_forward;
constexpr auto kLaunchSparse = launch_sparse;
#else
constexpr std::nullptr_t kLaunch = nullptr, kLaunchSparse = nullptr;
#endif

constexpr AttentionKernel kKernels[] = {{
    .name = "hopper-fp32acc",
    .summary = "wgmma, FP32 accumulators, forward",
    .accumulator = Accumulator::kFp32,
    .instruction = MmaInstruction::kWgmma,
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .forward = {emulate, kLaunch},
    .backward = {},
    .packed = {},
    .sparse = {sparse_lists, kLaunchSparse, nullptr},
}};

template <class Config>
constexpr KernelInstance instance(std::string_view symbol, std::string_view id) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kWgmma,
          .accumulator = Accumulator::kFp32,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = Config::kHasDropout,
          .is_packed = Config::kIsPacked,
          .is_sparse = Config::kIsSparse,
          .products = 2,  // S, P V
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(ForwardTiles<Config>),
          .block_rows = Config::kBlockM,
          .step_columns = Config::kBlockN,
          .seen_rows = kWarpgroupRows,
          .limits = {}};
}

#define SPARK_INSTANCE(symbol, id, ...) instance<__VA_ARGS__>(#symbol, id),
constexpr KernelInstance kInstances[] = {
    SPARK_HOPPER_FORWARD(SPARK_INSTANCE)         //
    SPARK_HOPPER_SPARSE_FORWARD(SPARK_INSTANCE)  //
};
#undef SPARK_INSTANCE

}  // namespace

KernelFamily kernel_family() { return {.kernels = kKernels, .instances = kInstances}; }

}  // namespace sparkbench::hopper
