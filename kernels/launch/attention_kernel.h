// What a fused kernel says of itself, and how it is run on a GPU or on the emulated machine. Knows
// no generation and no machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/sample.h"
#include "kernels/launch/plan.h"
#include "kernels/machine/mma_instruction.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

struct CUstream_st;

namespace sparkbench {

class PatternLists;   // kernels/block_sparse/pattern_lists.h
class PreparedChain;  // kernels/launch/prepared_chain.h

struct EmulationOptions;  // kernels/machine/emulated/blocks/launch.h
struct EmulationReport;

/// As much of a device as decides what runs on it.
struct KernelDevice {
  int sm;                              // compute capability: 70, 75, ...
  std::size_t shared_bytes_per_block;  // that a block may ask for
  bool is_emulated = false;
};

/// Yes, or why not.
struct Support {
  std::string why_not;  // "head_dim 60 (multiples of 8 up to 256 are supported)"

  explicit operator bool() const { return why_not.empty(); }
};

/// Host tensors. Null for a kernel of forward passes alone.
struct ForwardFunctions {
  /// The query tiles to compute; none means all.
  EmulationReport (*emulate)(const Problem& problem, const ForwardTensors& tensors,
                             const EmulationOptions& options, std::span<const SampleTile> tiles);
};

struct BackwardFunctions {
  EmulationReport (*emulate)(const Problem& problem, const BackwardTensors& tensors,
                             const EmulationOptions& options, bool is_deterministic,
                             const BackwardSample& sample);
};

/// A kernel over packed sequences, with the bits that it gives each of them alone: but dQ's, unless
/// deterministic, which differ by the order of its sums, and those of Hopper's O where a sequence
/// alone would come in runs (hopper/row_form.h). Throws std::invalid_argument as check_packed()
/// (kernels/varlen/work_lists.h) does. Without a backward kernel its function is null.
struct PackedFunctions {
  /// Whether it computes the packed problem on the device.
  Support (*supports)(const Problem& packed, const KernelDevice& device);
  /// As AttentionKernel::workspace_bytes(), of `batch` sequences. A forward pass has one, too.
  std::uint64_t (*workspace_bytes)(const Problem& packed, int batch, Pass pass,
                                   bool is_deterministic);
  /// The query tiles to compute, of the batch entry that a sequence is; none means all.
  EmulationReport (*emulate_forward)(const Problem& packed, const PackedLengths& lengths,
                                     const ForwardTensors& tensors, const EmulationOptions& options,
                                     std::span<const SampleTile> tiles);
  /// A sample has whole sequences: all query tiles of the heads that read a key head, and all key
  /// tiles of it.
  EmulationReport (*emulate_backward)(const Problem& packed, const PackedLengths& lengths,
                                      const BackwardTensors& tensors,
                                      const EmulationOptions& options, bool is_deterministic,
                                      const BackwardSample& sample);
};

/// A chain of kernels that keeps its scores in memory, so that a forward pass has a workspace, too:
/// launched by this instead of a plan, whatever the mask.
struct ChainFunctions {
  /// For the current GPU, and for backward passes unless `pass` is a forward one. Throws
  /// std::invalid_argument for what is not supported.
  std::shared_ptr<const PreparedChain> (*prepare)(const Problem& problem, Pass pass);
};

/// A forward kernel and, if there is one, the backward kernel that recomputes its scores.
struct AttentionKernel {
  std::string_view name;
  std::string_view summary;
  Accumulator accumulator;  // of its scores, and of the unfused computation that bounds its error
  MmaInstruction instruction;  // whose arithmetic its results have

  /// Whether it computes the problem on the device.
  Support (*supports)(const Problem& problem, const KernelDevice& device);

  /// Device memory that a pass takes besides its tensors: of a training step, what either of its
  /// passes takes. Saturates at 2^64 - 1.
  std::uint64_t (*workspace_bytes)(const Problem& problem, Pass pass, bool is_deterministic);

  /// The launches of a pass: null for a kernel that no GPU runs, and for a chain. With a
  /// pattern the request has sparse_lists(). A forward pass, too, then needs a workspace
  /// if the pattern is run as strided views or blocks share rows. Throws std::invalid_argument for
  /// what is not supported.
  std::vector<Step> (*plan)(const PlanRequest& request, Workspace& workspace) = nullptr;
  bool has_gpu_code = false;  // in this build, which plan_on_gpu() (run_gpu.h) is for

  ForwardFunctions forward;
  BackwardFunctions backward;  // all null for a kernel of forward passes alone
  PackedFunctions packed;
  /// What a pass reads of a pattern on the current GPU: a training step has those of its forward
  /// pass and of its backward pass by themselves. Null for a kernel without patterns.
  PatternLists (*sparse_lists)(const Problem& problem, Pass pass, bool is_deterministic) = nullptr;
  ChainFunctions chain = {};  // null for a fused kernel
  /// What fused kernels are compared with, which runs where it is named.
  bool is_baseline = false;

  bool has_backward() const { return backward.emulate != nullptr; }
};

/// A folder of kernels, and what of them is compiled.
struct KernelFamily {
  std::span<const AttentionKernel> kernels;
  std::span<const KernelInstance> instances;
};

}  // namespace sparkbench
