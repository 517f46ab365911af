// From a runtime problem to the forward kernel's instances.
#pragma once

#include <stdexcept>

#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward_config.h"
#include "kernels/volta/forward_params.h"

namespace sparkbench::volta {

/// The two instances that compute the same, for SMs of 96 and of 64 KiB of shared memory.
template <Accumulator kMma, Accumulator kOutput, int kHeadDim, bool kHasDropout>
struct ForwardInstance {
  using Config = ForwardConfig<kMma, kHeadDim, kHasDropout, forward_warps(kHeadDim), kOutput>;
  using SmallConfig = ForwardConfig<kMma, kHeadDim, kHasDropout, kForwardWarpsOf64KiB, kOutput>;
};

/// Calls visit(ForwardInstance<...>{}). Throws std::invalid_argument as visit_instance() does, and
/// for an O in FP16 under FP32 accumulators.
template <class Visit>
void visit_forward_instance(ForwardAccumulators accumulators, const Problem& problem,
                            Visit&& visit) {
  constexpr Accumulator kFp16 = Accumulator::kFp16, kFp32 = Accumulator::kFp32;
  visit_instance(accumulators.mma, problem, [&](auto mma, auto head_dim, auto has_dropout) {
    if (accumulators.output == kFp32) {
      visit(ForwardInstance<mma.value, kFp32, head_dim.value, has_dropout.value>{});
    } else if constexpr (mma.value == kFp16) {
      visit(ForwardInstance<kFp16, kFp16, head_dim.value, has_dropout.value>{});
    } else {
      throw std::invalid_argument("FP32 accumulators do not add to an O in FP16");
    }
  });
}

}  // namespace sparkbench::volta
