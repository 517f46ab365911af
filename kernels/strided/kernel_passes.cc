#include "kernels/strided/kernel_passes.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/strided/passes_emulated.h"
#include "kernels/strided/pattern_launches.h"

namespace sparkbench {
namespace {

/// Shared memory of a block of the devices whose plans differ: Turing's, and larger ones.
constexpr std::size_t kSharedBytes[] = {std::size_t{64} << 10, std::size_t{227} << 10};

/// The lists of a pattern that is not run as strided views.
void add_lists(const AttentionKernel& kernel, const Problem& problem, Pass pass,
               bool is_deterministic, PatternLists& lists) {
  PlanRequest request{problem, std::numeric_limits<std::size_t>::max()};
  request.is_deterministic = is_deterministic;
  for (const KernelInstance* const instance : kernel.listed_instances(request, pass)) {
    lists.add({*problem.sparse, list_kind_of(*instance)});
  }
}

std::uint64_t most_bytes(const AttentionKernel& kernel, PlanRequest request, Pass pass) {
  if (kernel.plan == nullptr) return 0;
  std::uint64_t most = 0;
  for (const std::size_t bytes : kSharedBytes) {
    request.shared_bytes_per_block = bytes;
    most = std::max(most, workspace_bytes(kernel.plan, request, pass));
  }
  return most;
}

/// Emulates a pass: dense, varlen, block-sparse, or as strided views.
EmulationReport emulate_request(const AttentionKernel& kernel, const PlanRequest& request,
                                const EmulationOptions& options, const BackwardSample& sample) {
  const Problem& problem = request.problem;
  const Pass pass = request.forward != nullptr ? Pass::kForward : Pass::kBackward;
  PlanRequest made = for_emulated_device(request, options);
  std::shared_ptr<const MaskTables> tables;
  std::vector<std::byte> table_memory;
  if (kernel.tables != nullptr) {
    tables = kernel.tables(problem, pass);
    table_memory = tables->bytes();
    made.tables = tables.get();
    made.table_memory = table_memory.data();
  }
  if (!problem.sparse || kernel.listed_instances == nullptr) {
    return kernel.emulate(made, options, sample);
  }
  const PatternLists lists = sparse_lists(kernel, problem, pass, request.is_deterministic);
  made.lists = &lists;
  if (!has_mask_passes(problem)) return kernel.emulate(made, options, sample);
  return emulate_views(made, options, sample,
                       [&](const PlanRequest& of_view, const BackwardSample& own) {
                         return kernel.emulate(of_view, options, own);
                       });
}

BackwardSample sample_of(std::span<const SampleTile> tiles) {
  return {{tiles.begin(), tiles.end()}, {}};
}

}  // namespace

PatternLists sparse_lists(const AttentionKernel& kernel, const Problem& problem, Pass pass,
                          bool is_deterministic) {
  PatternLists lists;
  if (!has_mask_passes(problem)) {
    add_lists(kernel, problem, pass, is_deterministic, lists);
    return lists;
  }
  for (const Problem& view : problems_of_views(problem)) {
    lists.begin_view();
    if (view.sparse) add_lists(kernel, view, pass, is_deterministic, lists);
  }
  return lists;
}

std::uint64_t workspace_bytes(const AttentionKernel& kernel, const Problem& problem, Pass pass,
                              bool is_deterministic, const MaskTables* tables) {
  PlanRequest request{problem, 0};
  request.is_deterministic = is_deterministic;
  request.tables = tables;
  return most_bytes(kernel, request, pass);
}

std::uint64_t packed_workspace_bytes(const AttentionKernel& kernel, const Problem& packed,
                                     int batch, Pass pass, bool is_deterministic) {
  const PackedLengths lengths{batch, nullptr, nullptr};
  PlanRequest request{packed, 0};
  request.is_deterministic = is_deterministic;
  request.lengths = &lengths;
  return most_bytes(kernel, request, pass);
}

EmulationReport emulate_forward(const AttentionKernel& kernel, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const SampleTile> tiles) {
  return emulate_request(kernel, forward_request(problem, tensors), options, sample_of(tiles));
}

EmulationReport emulate_backward(const AttentionKernel& kernel, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample) {
  return emulate_request(kernel, backward_request(problem, tensors, is_deterministic), options,
                         sample);
}

EmulationReport emulate_packed_forward(const AttentionKernel& kernel, const Problem& packed,
                                       const PackedLengths& lengths, const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles) {
  PlanRequest request = forward_request(packed, tensors);
  request.lengths = &lengths;
  return emulate_request(kernel, request, options, sample_of(tiles));
}

EmulationReport emulate_packed_backward(const AttentionKernel& kernel, const Problem& packed,
                                        const PackedLengths& lengths,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic,
                                        const BackwardSample& sample) {
  PlanRequest request = backward_request(packed, tensors, is_deterministic);
  request.lengths = &lengths;
  return emulate_request(kernel, request, options, sample);
}

}  // namespace sparkbench
