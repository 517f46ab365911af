// From a runtime problem to the compile-time constants of the kernel instance that serves it.
#pragma once

#include <stdexcept>
#include <type_traits>

#include "kernels/attention.h"

namespace sparkbench::volta {

/// Calls visit(accumulator, head_dim, has_dropout), three std::integral_constants. Throws
/// std::invalid_argument for a head_dim without an instance. A threshold of 0 drops nothing and
/// takes the instance without dropout.
template <class Visit>
void visit_instance(Accumulator accumulator, const Problem& problem, Visit&& visit) {
  const auto with_head_dim = [&](auto accumulator_constant, auto head_dim) {
    if (problem.dropout().threshold != 0) {
      visit(accumulator_constant, head_dim, std::true_type{});
    } else {
      visit(accumulator_constant, head_dim, std::false_type{});
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

inline int ceil_divide(int dividend, int divisor) { return (dividend + divisor - 1) / divisor; }

}  // namespace sparkbench::volta
