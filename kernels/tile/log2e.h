// The GPU's exponential and logarithm have base 2: exp(x) = exp2(x * kLog2E), ln(x) = kLn2 *
// log2(x).
#pragma once

namespace sparkbench {

inline constexpr float kLog2E = 1.44269504f;
inline constexpr float kLn2 = 0.693147181f;

}  // namespace sparkbench
