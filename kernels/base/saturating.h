// Sums and products that stop at 2^64 - 1 instead of wrapping, for sizes no machine has.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace sparkbench {

inline std::uint64_t saturating_product(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t product = 1;
  bool overflows = false;
  for (const std::uint64_t factor : factors) {
    if (factor == 0) return 0;
    overflows = __builtin_mul_overflow(product, factor, &product) || overflows;
  }
  return overflows ? std::numeric_limits<std::uint64_t>::max() : product;
}

inline std::uint64_t saturating_sum(std::initializer_list<std::uint64_t> terms) {
  std::uint64_t sum = 0;
  bool overflows = false;
  for (const std::uint64_t term : terms) {
    overflows = __builtin_add_overflow(sum, term, &sum) || overflows;
  }
  return overflows ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace sparkbench
