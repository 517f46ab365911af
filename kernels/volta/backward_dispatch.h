// From a device's shared memory to the backward kernels' instances that fit.
#pragma once

#include <cstddef>

#include "kernels/volta/backward_config.h"
#include "kernels/volta/backward_dq_block.h"

namespace sparkbench::volta {

/// Calls visit(Config{}) with the BackwardShape for SMs of 96 or of 64 KiB of shared memory.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, bool kComputesDq, class Visit>
void visit_backward_that_fits(std::size_t shared_bytes_per_block, Visit&& visit) {
  using Config = BackwardConfig<kAccumulator, kHeadDim, kHasDropout, kComputesDq>;
  if (sizeof(BackwardTiles<Config>) <= shared_bytes_per_block) return visit(Config{});
  visit(BackwardShape<kAccumulator, kHeadDim, kHasDropout, kComputesDq,
                      backward_keys_of_64_kib(kHeadDim), 1>{});
}

/// The same with the BackwardDqShape.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, class Visit>
void visit_backward_dq_that_fits(std::size_t shared_bytes_per_block, Visit&& visit) {
  using Config = BackwardDqConfig<kAccumulator, kHeadDim, kHasDropout>;
  if constexpr (kHeadDim == 128) {
    if (sizeof(BackwardDqTiles<Config>) > shared_bytes_per_block) {
      return visit(BackwardDqShape<kAccumulator, kHeadDim, kHasDropout, kBackwardDqRowsOf64KiB>{});
    }
  }
  visit(Config{});
}

}  // namespace sparkbench::volta
