// Runs the Volta backward kernels on the emulated machine.
#pragma once

#include <array>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/tensors.h"

namespace sparkbench::volta {

/// Rows per tile of BackwardSample: a multiple of every kernel's own.
inline constexpr int kBackwardSampleRows = 128;

/// Which part of the gradients to compute, as {tile, head, batch}, tile t being rows
/// kBackwardSampleRows * t and on. Both empty: all of them.
struct BackwardSample {
  std::vector<std::array<int, 3>> query_tiles;  // of dQ
  std::vector<std::array<int, 3>> key_tiles;    // of dK and dV

  bool is_everything() const { return query_tiles.empty() && key_tiles.empty(); }
};

/// `tensors` are host pointers. A sample's rows have the bits that the whole pass would give them
/// (those of dQ, unless deterministic, up to the order of its sums); other rows are unspecified.
EmulationReport emulate_backward(Accumulator accumulator, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample);

}  // namespace sparkbench::volta
