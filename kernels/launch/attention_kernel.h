// The description of a kernel: what it supports, its launches, and how the emulated machine
// runs it. It depends on no generation and no machine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/sample.h"
#include "kernels/launch/plan.h"
#include "kernels/machine/mma_instruction.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

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

/// A forward kernel and, if there is one, the backward kernel that recomputes its scores.
struct AttentionKernel {
  std::string_view name;
  std::string_view summary;
  Accumulator accumulator;  // of its scores, and of the unfused computation that bounds its error
  MmaInstruction instruction;  // whose arithmetic its results have

  /// Whether it computes the problem on the device, as varlen sequences (kernels/problem/packed.h)
  /// or not.
  Support (*supports)(const Problem& problem, const KernelDevice& device, bool is_varlen);

  /// The launches of a pass: null for a kernel that no GPU runs. With a pattern the request has its
  /// lists (kernels/strided/kernel_passes.h). Throws std::invalid_argument for what is not
  /// supported.
  std::vector<Step> (*plan)(const PlanRequest& request, Workspace& workspace) = nullptr;
  /// Builds the mask tables of a kernel that keeps its scores in memory. Those of a backward pass
  /// also serve its forward pass, which must run first in the same workspace. Throws
  /// std::invalid_argument for a mask that the kernel refuses. Null for a fused kernel.
  std::shared_ptr<const MaskTables> (*tables)(const Problem& problem, Pass pass) = nullptr;
  bool has_gpu_code = false;  // in this build, which plan_on_gpu() (run_gpu.h) is for
  bool is_forward_only = false;

  /// Runs a pass on the emulated machine. This is no loop over the plan, since only the family
  /// knows which blocks have a sample, and what their dQ waits for. A forward pass's sample has
  /// query tiles alone. The pattern must not be one that is run as strided views.
  EmulationReport (*emulate)(const PlanRequest& request, const EmulationOptions& options,
                             const BackwardSample& sample);

  /// The instances of a pattern's pass that read lists, in the order of its lists. Null for a
  /// kernel without lists.
  std::vector<const KernelInstance*> (*listed_instances)(const PlanRequest& request,
                                                         Pass pass) = nullptr;
  /// Whether fused kernels are compared with it. A baseline runs only if it is named.
  bool is_baseline = false;

  bool has_backward() const { return !is_forward_only; }
};

/// A folder of kernels, and what of them is compiled.
struct KernelFamily {
  std::span<const AttentionKernel> kernels;
  std::span<const KernelInstance> instances;
};

}  // namespace sparkbench
