// From a runtime problem to the instance of the Volta forward kernel that serves it.
#pragma once

#include <stdexcept>

#include "kernels/volta/forward.h"

namespace sparkbench::volta {

/// Calls `visit(ForwardConfig<...>{})`. Throws std::invalid_argument for a head_dim without an
/// instance. A threshold of 0 drops nothing and takes the instance without dropout.
template <class Visit>
void visit_forward_config(Accumulator accumulator, const Problem& problem, Visit&& visit) {
  const auto with_head_dim = [&](auto accumulator_constant, auto head_dim) {
    constexpr Accumulator kAccumulator = decltype(accumulator_constant)::value;
    constexpr int kHeadDim = decltype(head_dim)::value;
    if (problem.dropout().threshold != 0) {
      visit(ForwardConfig<kAccumulator, kHeadDim, true>{});
    } else {
      visit(ForwardConfig<kAccumulator, kHeadDim, false>{});
    }
  };
  const auto with_accumulator = [&](auto accumulator_constant) {
    switch (problem.head_dim) {
      case 64:
        return with_head_dim(accumulator_constant, std::integral_constant<int, 64>{});
      case 128:
        return with_head_dim(accumulator_constant, std::integral_constant<int, 128>{});
      default:
        throw std::invalid_argument("the Volta kernels have head_dim 64 and 128 only");
    }
  };
  if (accumulator == Accumulator::kFp16) {
    with_accumulator(std::integral_constant<Accumulator, Accumulator::kFp16>{});
  } else {
    with_accumulator(std::integral_constant<Accumulator, Accumulator::kFp32>{});
  }
}

inline int query_tiles(const Problem& problem) {
  return (problem.seqlen_q + kForwardBlockM - 1) / kForwardBlockM;
}

}  // namespace sparkbench::volta
