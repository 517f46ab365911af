#include "kernels/hopper/kernel_family.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/backward_emulated.h"
#include "kernels/hopper/backward_gpu.h"
#include "kernels/hopper/backward_workspace.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/forward_emulated.h"
#include "kernels/hopper/forward_gpu.h"
#include "kernels/hopper/packed_emulated.h"
#include "kernels/hopper/packed_workspace.h"
#include "kernels/strided/passes_emulated.h"
#include "kernels/strided/passes_gpu.h"

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

/// Which lists a pass takes: a backward one those of keys, then those of queries.
std::vector<SparseListKind> list_kinds(const Problem& problem, Pass pass) {
  std::vector<SparseListKind> kinds;
  if (pass == Pass::kForward) {
    visit_forward<Blocks::kSparse>(
        problem, [&](auto row, auto /*id*/) { kinds.push_back(kSparseQueries<decltype(row)>); });
  } else {
    visit_backward<Blocks::kSparse>(
        problem, [&](auto row, auto /*id*/) { kinds.push_back(kSparseKeys<decltype(row)>); });
    visit_backward_dq<Blocks::kSparse>(
        problem, [&](auto row, auto /*id*/) { kinds.push_back(kSparseQueries<decltype(row)>); });
  }
  return kinds;
}

/// Of a launch's own, of a problem that is not run as passes.
std::uint64_t bytes_of_launch(const Problem& problem, Pass pass, bool is_deterministic) {
  if (!problem.sparse) {
    return pass == Pass::kForward
               ? 0
               : dense_workspace(problem, dq_form(problem, is_deterministic)).bytes;
  }
  std::vector<int> rows;
  for (const SparseListKind& kind : list_kinds(problem, pass)) {
    rows.push_back(rows_of_parts(*problem.sparse, kind).stored);
  }
  const Problem dense = without_pattern(problem);
  if (pass != Pass::kForward) {
    return BackwardWorkspace(dense, problem.seqlen_q, 0, rows[0], rows[1]).bytes;
  }
  DeviceWorkspace workspace;
  take_forward_parts(dense, rows[0], workspace);
  return workspace.bytes();
}

/// Of a pattern that is run as passes. Launches follow each other, and share what is theirs.
PassesWorkspace passes_workspace(const Problem& problem, Pass pass, bool is_deterministic) {
  std::uint64_t most = 0;
  for (const Problem& view : problems_of_views(problem)) {
    most = std::max(most, bytes_of_launch(view, pass, is_deterministic));
  }
  return {problem, pass, most};
}

/// A training step has room for either of its passes, which follow each other.
std::uint64_t workspace_bytes(const Problem& problem, Pass pass, bool is_deterministic) {
  if (problem.head_dim > kMostHeadDim) return 0;
  const auto of = [&](Pass each) {
    return has_mask_passes(problem) ? passes_workspace(problem, each, is_deterministic).bytes
                                    : bytes_of_launch(problem, each, is_deterministic);
  };
  return pass == Pass::kForwardBackward ? std::max(of(Pass::kForward), of(Pass::kBackward))
                                        : of(pass);
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

/// Totals may be 0, of which neither is a problem's.
std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic) {
  const auto of = [&](Pass each) {
    if (each == Pass::kForward) return packed_forward_bytes(packed, batch);
    const DqForm dq = packed_dq_form(packed, batch, is_deterministic);
    return PackedBackwardWorkspace(packed, batch, dq).bytes;
  };
  return pass == Pass::kForwardBackward ? std::max(of(Pass::kForward), of(Pass::kBackward))
                                        : of(pass);
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
void launch(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream) {
  launch_forward(problem, tensors, row_form(problem), stream);
}

void launch(const Problem& problem, const BackwardTensors& tensors, void* workspace,
            bool is_deterministic, CUstream_st* stream) {
  launch_backward(problem, tensors, workspace, dq_form(problem, is_deterministic), stream);
}

void launch_sparse(const Problem& problem, const ForwardTensors& tensors, void* workspace,
                   const PatternLists& lists, const void* memory, CUstream_st* stream) {
  if (!has_mask_passes(problem)) {
    return launch_sparse_forward(problem, tensors, workspace, lists, 0, memory, stream);
  }
  launch_passes_forward(
      problem, tensors, workspace, passes_workspace(problem, Pass::kForward, true),
      [&](const ViewLaunch& view, const ForwardTensors& of_view, void* own) {
        if (!view.problem.sparse) return launch(view.problem, of_view, stream);
        launch_sparse_forward(view.problem, of_view, own, lists, lists.first_of_view(view.view),
                              memory, stream);
      },
      stream);
}

void launch_sparse(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                   const PatternLists& lists, const void* memory, bool is_deterministic,
                   CUstream_st* stream) {
  if (!has_mask_passes(problem)) {
    return launch_sparse_backward(problem, tensors, workspace, lists, 0, memory, stream);
  }
  launch_passes_backward(
      problem, tensors, workspace, passes_workspace(problem, Pass::kBackward, is_deterministic),
      [&](const ViewLaunch& view, const BackwardTensors& of_view, void* own) {
        if (!view.problem.sparse) {
          return launch(view.problem, of_view, own, is_deterministic, stream);
        }
        launch_sparse_backward(view.problem, of_view, own, lists, lists.first_of_view(view.view),
                               memory, stream);
      },
      stream);
}

void launch_packed(const Problem& packed, const PackedLengths& lengths,
                   const BackwardTensors& tensors, void* workspace, bool is_deterministic,
                   CUstream_st* stream) {
  launch_packed_backward(packed, lengths, tensors, workspace,
                         packed_dq_form(packed, lengths.batch, is_deterministic), stream);
}

constexpr ForwardFunctions kForward = {emulate, launch};
constexpr BackwardFunctions kBackward = {emulate, launch};
constexpr decltype(SparseFunctions::launch_forward) kLaunchSparseForward = launch_sparse;
constexpr decltype(SparseFunctions::launch_backward) kLaunchSparseBackward = launch_sparse;
constexpr PackedFunctions kPacked = {
    supports,       packed_workspace_bytes, emulate_packed_forward, launch_packed_forward,
    emulate_packed, launch_packed};
#else
constexpr ForwardFunctions kForward = {emulate, nullptr};
constexpr BackwardFunctions kBackward = {emulate, nullptr};
constexpr decltype(SparseFunctions::launch_forward) kLaunchSparseForward = nullptr;
constexpr decltype(SparseFunctions::launch_backward) kLaunchSparseBackward = nullptr;
constexpr PackedFunctions kPacked = {supports, packed_workspace_bytes, emulate_packed_forward,
                                     nullptr,  emulate_packed,         nullptr};
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
    .forward = kForward,
    .backward = kBackward,
    .packed = kPacked,
    .sparse = {sparse_lists, kLaunchSparseForward, kLaunchSparseBackward},
}};

/// `rows` of a block of the score matrix, which it goes over in steps of so many columns, by so
/// many products.
template <class Config>
constexpr KernelInstance instance(std::string_view symbol, std::string_view id, int rows,
                                  int step_columns, int products) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kWgmma,
          .accumulator = Accumulator::kFp32,
          .head_dim = Config::kHeadDim,
          .least_head_dim = Config::kLeastHeadDim,
          .has_dropout = Config::kHasDropout,
          .is_packed = Config::kIsPacked,
          .is_sparse = Config::kIsSparse,
          .products = products,
          .threads = Config::kThreads,
          .dynamic_shared_bytes = sizeof(typename Config::Tiles),
          .block_rows = rows,
          .step_columns = step_columns,
          .seen_rows = kWarpgroupRows,
          .limits = {}};
}

/// Of all columns, without products: blocks of so many rows.
constexpr KernelInstance row_instance(std::string_view symbol, std::string_view id, int threads,
                                      int rows) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kWgmma,
          .accumulator = Accumulator::kFp32,
          .head_dim = kMostHeadDim,
          .least_head_dim = kChunkHalves,
          .has_dropout = false,
          .is_packed = false,
          .is_sparse = false,
          .products = 0,
          .threads = threads,
          .dynamic_shared_bytes = 0,
          .block_rows = rows,
          .step_columns = 0,
          .limits = {}};
}

// S, P V
#define SPARK_FORWARD_ROW(symbol, id, ...) \
  instance<__VA_ARGS__>(#symbol, id, __VA_ARGS__::kBlockM, __VA_ARGS__::kBlockN, 2),
// S, dP, dV, dK
#define SPARK_BACKWARD_ROW(symbol, id, ...) \
  instance<__VA_ARGS__>(#symbol, id, __VA_ARGS__::kBlockKeys, __VA_ARGS__::kStep, 4),
// S, dP, dV, dK, dQ
#define SPARK_BACKWARD_WITH_DQ_ROW(symbol, id, ...) \
  instance<__VA_ARGS__>(#symbol, id, __VA_ARGS__::kBlockKeys, __VA_ARGS__::kStep, 5),
// S, dP, dQ
#define SPARK_BACKWARD_DQ_ROW(symbol, id, ...) \
  instance<__VA_ARGS__>(#symbol, id, __VA_ARGS__::kBlockM, __VA_ARGS__::kBlockN, 3),
constexpr KernelInstance kInstances[] = {
    SPARK_HOPPER_FORWARD(SPARK_FORWARD_ROW)                        //
    SPARK_HOPPER_RUNS_FORWARD(SPARK_FORWARD_ROW)                   //
    SPARK_HOPPER_BACKWARD_SUMS(SPARK_BACKWARD_WITH_DQ_ROW)         //
    SPARK_HOPPER_BACKWARD_CARRIED(SPARK_BACKWARD_WITH_DQ_ROW)      //
    SPARK_HOPPER_BACKWARD(SPARK_BACKWARD_ROW)                      //
    SPARK_HOPPER_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)                //
    SPARK_HOPPER_SPARSE_FORWARD(SPARK_FORWARD_ROW)                 //
    SPARK_HOPPER_SPARSE_BACKWARD(SPARK_BACKWARD_ROW)               //
    SPARK_HOPPER_SPARSE_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)         //
    SPARK_HOPPER_PACKED_FORWARD(SPARK_FORWARD_ROW)                 //
    SPARK_HOPPER_PACKED_BACKWARD_SUMS(SPARK_BACKWARD_WITH_DQ_ROW)  //
    SPARK_HOPPER_PACKED_BACKWARD(SPARK_BACKWARD_ROW)               //
    SPARK_HOPPER_PACKED_BACKWARD_DQ(SPARK_BACKWARD_DQ_ROW)         //
    row_instance("hopper_fp32acc_bwd_statistics", "hopper-fp32acc/bwd-statistics",
                 StatisticsConfig::kThreads, StatisticsConfig::kBlockM),
    row_instance("hopper_fp32acc_bwd_round_dq", "hopper-fp32acc/bwd-round-dq",
                 RoundDqConfig::kThreads, kWarpgroupRows),
};

}  // namespace

KernelFamily kernel_family() { return {.kernels = kKernels, .instances = kInstances}; }

}  // namespace sparkbench::hopper
