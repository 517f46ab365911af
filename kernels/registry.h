// Every fused kernel there is, and how to run it on a GPU or on the emulated machine.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/attention.h"
#include "kernels/machine/emulated/launch.h"

struct CUstream_st;

namespace sparkbench {

struct AttentionKernel {
  std::string_view name;
  std::string_view summary;
  Pass pass;
  Accumulator accumulator;
  int query_rows_per_tile;  // a tile is the unit in which the emulated machine samples rows

  /// Why this kernel cannot compute the problem, or nothing when it can.
  std::optional<std::string> (*unsupported)(const Problem& problem);

  /// Whether its MMAs run on tensor cores of compute capability `sm` (70, 75, ...). Elsewhere the
  /// kernel is correct, but its time says nothing.
  bool (*is_native)(int sm);

  /// Host tensors; {tile, head, batch} of each query tile to compute, none meaning all.
  EmulationReport (*emulate)(const Problem& problem, const ForwardTensors& tensors,
                             const EmulationOptions& options,
                             std::span<const std::array<int, 3>> tiles);

  /// Device tensors, on a cudaStream_t. Null in a build without CUDA.
  void (*launch)(const Problem& problem, const ForwardTensors& tensors, CUstream_st* stream);
};

/// In the order in which they are listed and swept.
std::span<const AttentionKernel> attention_kernels();

/// Null when there is none of that name and pass.
const AttentionKernel* find_attention_kernel(std::string_view name, Pass pass);

}  // namespace sparkbench
