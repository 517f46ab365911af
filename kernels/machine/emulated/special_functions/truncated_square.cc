#include "kernels/machine/emulated/special_functions/truncated_square.h"

#include <cstddef>

namespace sparkbench {
namespace {

constexpr std::array<std::uint8_t, 128 * 128> lower_products() {
  std::array<std::uint8_t, 128 * 128> sums = {};
  for (std::size_t bits = 0; bits < sums.size(); ++bits) {
    const std::size_t lower = bits >> 7;   // x_2 to x_8
    const std::size_t upper = bits & 127;  // x_10 to x_16
    std::size_t sum = 0;
    for (std::size_t j = 2; j < 9; ++j) sum += (lower >> (j - 2) & 1) * (upper >> (8 - j));
    sums[bits] = static_cast<std::uint8_t>(sum);
  }
  return sums;
}

}  // namespace

constexpr std::array<std::uint8_t, 128 * 128> kLowerProducts = lower_products();

}  // namespace sparkbench
