// From a runtime problem to the forward kernel's instances.
#pragma once

#include <stdexcept>

#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward_config.h"
#include "kernels/volta/forward_params.h"

namespace sparkbench::volta {

/// The two instances that compute the same, for SMs of 96 and of 64 KiB of shared memory.
template <Accumulator kQk, Accumulator kPv, Accumulator kOutput, int kHeadDim, bool kHasDropout>
struct ForwardInstance {
  using Config = ForwardConfig<kQk, kHeadDim, kHasDropout, forward_warps(kHeadDim), kPv, kOutput>;
  using SmallConfig = ForwardConfig<kQk, kHeadDim, kHasDropout, kForwardWarpsOf64KiB, kPv, kOutput>;
};

/// Calls visit(ForwardInstance<...>{}). Throws std::invalid_argument as visit_instance() does, and
/// for other accumulators than those of forward_params.h.
template <class Visit>
void visit_forward_instance(ForwardAccumulators accumulators, const Problem& problem,
                            Visit&& visit) {
  constexpr Accumulator kFp16 = Accumulator::kFp16, kFp32 = Accumulator::kFp32;
  visit_instance(accumulators.qk, problem, [&](auto qk, auto head_dim, auto has_dropout) {
    constexpr int kHeadDim = head_dim.value;
    constexpr bool kDropout = has_dropout.value;
    if constexpr (qk.value == kFp32) {
      if (accumulators == kFp32Acc) {
        return visit(ForwardInstance<kFp32, kFp32, kFp32, kHeadDim, kDropout>{});
      }
    } else {
      if (accumulators == kMixedAcc) {
        return visit(ForwardInstance<kFp16, kFp32, kFp32, kHeadDim, kDropout>{});
      }
      if (accumulators == kFp16Acc) {
        return visit(ForwardInstance<kFp16, kFp16, kFp32, kHeadDim, kDropout>{});
      }
      if (accumulators == kFp16AccO16) {
        return visit(ForwardInstance<kFp16, kFp16, kFp16, kHeadDim, kDropout>{});
      }
    }
    throw std::invalid_argument("no forward kernel has these accumulators");
  });
}

}  // namespace sparkbench::volta
