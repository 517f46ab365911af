#include "kernels/machine/emulated/tensor_core/fma_chain.h"

#include <cmath>

namespace sparkbench {

float fma_chain(std::span<const Half, 4> a, std::span<const Half, 4> b, float c) {
  float product = 0.0f;
  for (int k = 0; k < 4; ++k) product = std::fma(to_float(a[k]), to_float(b[k]), product);
  const float sum = c + product;
  return std::isnan(sum) ? float_from_bits(0x7fffffffu) : sum;
}

Half fma_chain(std::span<const Half, 4> a, std::span<const Half, 4> b, Half c) {
  const float first = std::fma(to_float(a[1]), to_float(b[1]), to_float(a[0]) * to_float(b[0]));
  const float second = std::fma(to_float(a[3]), to_float(b[3]), to_float(a[2]) * to_float(b[2]));
  return to_half((to_float(c) + first) + second);
}

}  // namespace sparkbench
