// The operations of the vectorised loops: one number at a time, and no branch that could keep the
// compiler from computing eight or sixteen at once. A mask is -1 or 0.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/machine/emulated/tensor_core/vector_clones.h"

namespace sparkbench {

SPARKBENCH_LANE std::int32_t bits_of(float value) { return std::bit_cast<std::int32_t>(value); }
SPARKBENCH_LANE float float_of(std::int32_t bits) { return std::bit_cast<float>(bits); }

/// The mask of a < b. The difference must not overflow.
SPARKBENCH_LANE std::int32_t mask_less(std::int32_t a, std::int32_t b) { return (a - b) >> 31; }

/// Where `mask` is -1, `then`; where it is 0, `otherwise`. A conditional expression would do, but
/// compilers turn chains of them back into branches.
SPARKBENCH_LANE std::int32_t select(std::int32_t mask, std::int32_t then, std::int32_t otherwise) {
  return otherwise ^ ((then ^ otherwise) & mask);
}

/// By value, unlike std::max and std::min, so that no address keeps a loop from being vectorised.
SPARKBENCH_LANE std::int32_t larger(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
SPARKBENCH_LANE std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

}  // namespace sparkbench
