// Every fused kernel there is, and how to run it on a GPU or on the emulated machine.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/tensors.h"
#include "kernels/volta/backward_emulated.h"

struct CUstream_st;

namespace sparkbench {

/// Host tensors for emulate, device tensors and a cudaStream_t for launch, which is null in a build
/// without CUDA.
struct ForwardFunctions {
  /// {tile, head, batch} of each query tile to compute; none means all.
  EmulationReport (*emulate)(const Problem& problem, const ForwardTensors& tensors,
                             const EmulationOptions& options,
                             std::span<const std::array<int, 3>> tiles);
  void (*launch)(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream);
};

struct BackwardFunctions {
  EmulationReport (*emulate)(const Problem& problem, const BackwardTensors& tensors,
                             const EmulationOptions& options, bool is_deterministic,
                             const volta::BackwardSample& sample);
  /// `workspace` has workspace_bytes() and is aligned to 256 bytes.
  void (*launch)(const Problem& problem, const BackwardTensors& tensors, void* workspace,
                 bool is_deterministic, CUstream_st* stream);
  std::size_t (*workspace_bytes)(const Problem& problem, bool is_deterministic);
};

/// A forward kernel and, if there is one, the backward kernel that recomputes its scores.
struct AttentionKernel {
  std::string_view name;
  std::string_view summary;
  Accumulator accumulator;  // of its scores, and of the unfused computation that bounds its error
  int rows_per_tile;        // a tile is the unit in which the emulated machine samples rows

  /// Why this kernel cannot compute the problem, or nothing when it can.
  std::optional<std::string> (*unsupported)(const Problem& problem);

  /// Whether its MMAs run on tensor cores of compute capability `sm` (70, 75, ...). Elsewhere the
  /// kernel is correct, but its time says nothing.
  bool (*is_native)(int sm);

  ForwardFunctions forward;
  BackwardFunctions backward;  // all null for a kernel of forward passes alone

  bool has_backward() const { return backward.emulate != nullptr; }
};

/// In the order in which they are listed and swept.
std::span<const AttentionKernel> attention_kernels();

/// Null when there is none of that name.
const AttentionKernel* find_attention_kernel(std::string_view name);

}  // namespace sparkbench
