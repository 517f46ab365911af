// The activations of a layer and their derivatives, on host and device.
#pragma once

#include <cmath>

#include "kernels/base/host_device.h"
#include "reference/encoder/layer_shape.h"

namespace sparkbench {

/// x (1 + erf(x / sqrt 2)) / 2, its tanh form (Hendrycks and Gimpel, 2016, section 2), or ReLU.
template <class Real>
SPARK_HD Real activation_of(Activation activation, Real x) {
  constexpr auto kSqrtHalf = static_cast<Real>(0.70710678118654752440);
  constexpr auto kSqrtTwoOverPi = static_cast<Real>(0.79788456080286535588);
  if (activation == Activation::kRelu) return x > 0 ? x : Real{0};
  if (activation == Activation::kGeluErf) return Real{0.5} * x * (1 + std::erf(x * kSqrtHalf));
  const Real inner = kSqrtTwoOverPi * (x + static_cast<Real>(0.044715) * x * x * x);
  return Real{0.5} * x * (1 + std::tanh(inner));
}

template <class Real>
SPARK_HD Real derivative_of(Activation activation, Real x) {
  constexpr auto kSqrtHalf = static_cast<Real>(0.70710678118654752440);
  constexpr auto kSqrtTwoOverPi = static_cast<Real>(0.79788456080286535588);
  constexpr auto kSqrtTwoPi = static_cast<Real>(2.50662827463100050242);
  if (activation == Activation::kRelu) return x > 0 ? Real{1} : Real{0};
  if (activation == Activation::kGeluErf) {
    const Real density = std::exp(-x * x / 2) / kSqrtTwoPi;
    return Real{0.5} * (1 + std::erf(x * kSqrtHalf)) + x * density;
  }
  const Real cubic = static_cast<Real>(0.044715);
  const Real tanh = std::tanh(kSqrtTwoOverPi * (x + cubic * x * x * x));
  return Real{0.5} * (1 + tanh) +
         Real{0.5} * x * (1 - tanh * tanh) * kSqrtTwoOverPi * (1 + 3 * cubic * x * x);
}

}  // namespace sparkbench
