#include "kernels/volta/kernel_family.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/launch/m8n8k4_code.h"
#include "kernels/strided/passes_emulated.h"
#include "kernels/strided/passes_gpu.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/backward_emulated.h"
#include "kernels/volta/backward_gpu.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward_emulated.h"
#include "kernels/volta/forward_gpu.h"
#include "kernels/volta/instance_table.h"
#include "kernels/volta/packed_emulated.h"
#include "kernels/volta/packed_gpu.h"
#include "kernels/volta/packed_workspace.h"
#include "kernels/volta/passes_workspace.h"
#include "kernels/volta/sparse_emulated.h"
#include "kernels/volta/sparse_gpu.h"
#include "kernels/volta/sparse_kinds.h"

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

/// Of one pass.
template <Accumulator kAccumulator>
std::uint64_t bytes_of_pass(const Problem& problem, Pass pass, bool is_deterministic) {
  if (problem.sparse && problem.head_dim <= kMostHeadDim) {
    return has_mask_passes(problem)
               ? passes_workspace(kAccumulator, problem, pass, is_deterministic).bytes
               : sparse_workspace_bytes(kAccumulator, problem, pass, is_deterministic);
  }
  return pass == Pass::kForward ? 0 : backward_workspace_bytes_of_grid(problem, is_deterministic);
}

/// A training step has room for either of its passes, which follow each other.
template <Accumulator kAccumulator>
std::uint64_t workspace_bytes(const Problem& problem, Pass pass, bool is_deterministic) {
  const auto of = [&](Pass each) {
    return bytes_of_pass<kAccumulator>(problem, each, is_deterministic);
  };
  return pass == Pass::kForwardBackward ? std::max(of(Pass::kForward), of(Pass::kBackward))
                                        : of(pass);
}

template <Accumulator kAccumulator>
EmulationReport emulate(const Problem& problem, const ForwardTensors& tensors,
                        const EmulationOptions& options, std::span<const SampleTile> tiles) {
  const auto emulate_whole = [&](const Problem& of, const ForwardTensors& tensors_of,
                                 std::span<const SampleTile> tiles_of) {
    const auto emulate_one = of.sparse ? emulate_sparse_forward : emulate_forward;
    return emulate_one(kAccumulator, of, tensors_of, options, tiles_of);
  };
  return has_mask_passes(problem)
             ? emulate_passes_forward(problem, tensors, options, tiles, emulate_whole)
             : emulate_whole(problem, tensors, tiles);
}

/// Patterns have instances for 96 KiB alone.
template <Accumulator kAccumulator>
void add_lists(const Problem& problem, Pass pass, bool is_deterministic, PatternLists& lists) {
  const Wanted wanted{problem, kLargeSharedBytes};
  if (pass == Pass::kForward) {
    visit_forward<Blocks::kSparse>(kAccumulator, wanted, [&](auto row, auto /*id*/) {
      lists.add({*problem.sparse, kSparseForward<decltype(row)>});
    });
    return;
  }
  visit_backward<Blocks::kSparse>(kAccumulator, !is_deterministic, wanted, [&](auto row, auto) {
    lists.add({*problem.sparse, kSparseKeys<decltype(row)>});
  });
  if (!is_deterministic) return;
  visit_backward_dq<Blocks::kSparse>(kAccumulator, wanted, [&](auto row, auto /*id*/) {
    lists.add({*problem.sparse, kSparseQueries<decltype(row)>});
  });
}

template <Accumulator kAccumulator>
PatternLists sparse_lists(const Problem& problem, Pass pass, bool is_deterministic) {
  PatternLists lists;
  if (!has_mask_passes(problem)) {
    add_lists<kAccumulator>(problem, pass, is_deterministic, lists);
    return lists;
  }
  for (const Problem& view : problems_of_views(problem)) {
    lists.begin_view();
    if (view.sparse) add_lists<kAccumulator>(view, pass, is_deterministic, lists);
  }
  return lists;
}

template <Accumulator kAccumulator>
EmulationReport emulate(const Problem& problem, const BackwardTensors& tensors,
                        const EmulationOptions& options, bool is_deterministic,
                        const BackwardSample& sample) {
  const auto emulate_whole = [&](const Problem& of, const BackwardTensors& tensors_of,
                                 const BackwardSample& sample_of) {
    const auto emulate_one = of.sparse ? emulate_sparse_backward : emulate_backward;
    return emulate_one(kAccumulator, of, tensors_of, options, is_deterministic, sample_of);
  };
  return has_mask_passes(problem)
             ? emulate_passes_backward(problem, tensors, options, sample, emulate_whole)
             : emulate_whole(problem, tensors, sample);
}

template <Accumulator kAccumulator>
EmulationReport emulate_packed(const Problem& packed, const PackedLengths& lengths,
                               const ForwardTensors& tensors, const EmulationOptions& options,
                               std::span<const SampleTile> tiles) {
  return emulate_packed_forward(kAccumulator, packed, lengths, tensors, options, tiles);
}

template <Accumulator kAccumulator>
EmulationReport emulate_packed(const Problem& packed, const PackedLengths& lengths,
                               const BackwardTensors& tensors, const EmulationOptions& options,
                               bool is_deterministic, const BackwardSample& sample) {
  return emulate_packed_backward(kAccumulator, packed, lengths, tensors, options, is_deterministic,
                                 sample);
}

#ifdef SPARKBENCH_HAS_VOLTA
template <Accumulator kAccumulator>
void launch(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream) {
  launch_forward(kAccumulator, problem, tensors, stream);
}

template <Accumulator kAccumulator>
void launch(const Problem& problem, const BackwardTensors& tensors, void* workspace,
            bool is_deterministic, CUstream_st* stream) {
  launch_backward(kAccumulator, problem, tensors, workspace, is_deterministic, stream);
}

template <Accumulator kAccumulator>
void launch_packed(const Problem& packed, const PackedLengths& lengths,
                   const ForwardTensors& tensors, void* workspace, CUstream_st* stream) {
  launch_packed_forward(kAccumulator, packed, lengths, tensors, workspace, stream);
}

template <Accumulator kAccumulator>
void launch_packed(const Problem& packed, const PackedLengths& lengths,
                   const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                   CUstream_st* stream) {
  launch_packed_backward(kAccumulator, packed, lengths, tensors, workspace, is_deterministic,
                         stream);
}

template <Accumulator kAccumulator>
void launch_sparse(const Problem& problem, const ForwardTensors& tensors, void* workspace,
                   const PatternLists& lists, const void* memory, CUstream_st* stream) {
  if (!has_mask_passes(problem)) {
    return launch_sparse_forward(kAccumulator, problem, tensors, workspace, lists, 0, memory,
                                 stream);
  }
  launch_passes_forward(
      problem, tensors, workspace, passes_workspace(kAccumulator, problem, Pass::kForward, false),
      [&](const ViewLaunch& view, const ForwardTensors& of_view, void* own) {
        if (!view.problem.sparse) {
          return launch_forward(kAccumulator, view.problem, of_view, stream);
        }
        launch_sparse_forward(kAccumulator, view.problem, of_view, own, lists,
                              lists.first_of_view(view.view), memory, stream);
      },
      stream);
}

template <Accumulator kAccumulator>
void launch_sparse(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                   const PatternLists& lists, const void* memory, bool is_deterministic,
                   CUstream_st* stream) {
  if (!has_mask_passes(problem)) {
    return launch_sparse_backward(kAccumulator, problem, tensors, workspace, lists, 0, memory,
                                  is_deterministic, stream);
  }
  launch_passes_backward(
      problem, tensors, workspace,
      passes_workspace(kAccumulator, problem, Pass::kBackward, is_deterministic),
      [&](const ViewLaunch& view, const BackwardTensors& of_view, void* own) {
        if (!view.problem.sparse) {
          return launch_backward(kAccumulator, view.problem, of_view, own, is_deterministic,
                                 stream);
        }
        launch_sparse_backward(kAccumulator, view.problem, of_view, own, lists,
                               lists.first_of_view(view.view), memory, is_deterministic, stream);
      },
      stream);
}

template <Accumulator kAccumulator>
constexpr ForwardFunctions kForward = {emulate<kAccumulator>, launch<kAccumulator>};
template <Accumulator kAccumulator>
constexpr BackwardFunctions kBackward = {emulate<kAccumulator>, launch<kAccumulator>};
template <Accumulator kAccumulator>
constexpr decltype(PackedFunctions::launch_forward) kLaunchPackedForward =
    launch_packed<kAccumulator>;
template <Accumulator kAccumulator>
constexpr decltype(PackedFunctions::launch_backward) kLaunchPackedBackward =
    launch_packed<kAccumulator>;
template <Accumulator kAccumulator>
constexpr decltype(SparseFunctions::launch_forward) kLaunchSparseForward =
    launch_sparse<kAccumulator>;
template <Accumulator kAccumulator>
constexpr decltype(SparseFunctions::launch_backward) kLaunchSparseBackward =
    launch_sparse<kAccumulator>;
#else
template <Accumulator kAccumulator>
constexpr ForwardFunctions kForward = {emulate<kAccumulator>, nullptr};
template <Accumulator kAccumulator>
constexpr BackwardFunctions kBackward = {emulate<kAccumulator>, nullptr};
template <Accumulator kAccumulator>
constexpr auto kLaunchPackedForward = nullptr;
template <Accumulator kAccumulator>
constexpr auto kLaunchPackedBackward = nullptr;
template <Accumulator kAccumulator>
constexpr auto kLaunchSparseForward = nullptr;
template <Accumulator kAccumulator>
constexpr auto kLaunchSparseBackward = nullptr;
#endif

template <Accumulator kAccumulator>
constexpr AttentionKernel kernel(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .accumulator = kAccumulator,
          .instruction = MmaInstruction::kM8n8k4,
          .supports = supports,
          .workspace_bytes = workspace_bytes<kAccumulator>,
          .forward = kForward<kAccumulator>,
          .backward = kBackward<kAccumulator>,
          .packed = {.supports = supports_packed,
                     .workspace_bytes = packed_workspace_bytes,
                     .emulate_forward = emulate_packed<kAccumulator>,
                     .launch_forward = kLaunchPackedForward<kAccumulator>,
                     .emulate_backward = emulate_packed<kAccumulator>,
                     .launch_backward = kLaunchPackedBackward<kAccumulator>},
          .sparse = {sparse_lists<kAccumulator>, kLaunchSparseForward<kAccumulator>,
                     kLaunchSparseBackward<kAccumulator>}};
}

constexpr AttentionKernel kKernels[] = {
    kernel<Accumulator::kFp16>("volta-fp16acc", "m8n8k4, FP16 accumulators, as in the paper"),
    kernel<Accumulator::kFp32>("volta-fp32acc", "m8n8k4, FP32 accumulators"),
};

}  // namespace

KernelFamily kernel_family() { return {kKernels, instances()}; }

}  // namespace sparkbench::volta
