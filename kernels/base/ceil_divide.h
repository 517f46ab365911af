// How many parts of a size make a whole.
#pragma once

namespace sparkbench {

constexpr int ceil_divide(int dividend, int divisor) { return (dividend + divisor - 1) / divisor; }

}  // namespace sparkbench
