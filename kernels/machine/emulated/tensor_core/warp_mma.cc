#include "kernels/machine/emulated/tensor_core/warp_mma.h"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/tile_mma.h"
#include "kernels/machine/emulated/tensor_core/warp_tiles.h"

namespace sparkbench {
namespace {

/// One k step by the definition, for the operands that the vector path leaves out.
template <Accumulator kAccumulator>
void scalar_step(const ArithmeticProfile& profile, const WarpOperandTiles& operands,
                 WarpAccumulatorTiles& c) {
  for (int i = 0; i < kQuadPairs * 8 * 8; ++i) {
    const int quad = i / 64;
    const int row = i / 8 % 8;
    const int column = i % 8;
    std::array<Half, 4> b;
    for (int k = 0; k < 4; ++k) b[k] = operands.b[quad][k][column];
    float& value = c.value[quad][row][column];
    if constexpr (kAccumulator == Accumulator::kFp16) {
      value = to_float(dot_accumulate(profile, operands.a[quad][row], b, to_half(value)));
    } else {
      value = dot_accumulate(profile, operands.a[quad][row], b, value);
    }
  }
}

template <Accumulator kAccumulator>
void step(const ArithmeticProfile& profile, const WarpOperandTiles& operands,
          WarpAccumulatorTiles& c) {
  DecodedOperands decoded;
  decode(operands, decoded);
  if (profile.is_fma_chain) {
    fma_chain_step(kAccumulator, decoded, c);
  } else if (decoded.finite && in_vector_range(c)) {
    tensor_core_step(kAccumulator, profile.fraction_bits, decoded, c);
  } else {
    scalar_step<kAccumulator>(profile, operands, c);
  }
}

template <Accumulator kAccumulator>
void mma_m8n8k4(const ArithmeticProfile& profile, Major a_major, Major b_major,
                std::span<const WarpOperands> a, std::span<const WarpOperands> b,
                AccumulatorFragment<kAccumulator>* const (&c)[32]) {
  if (!profile.has_m8n8k4) {
    throw std::invalid_argument("no m8n8k4 in the arithmetic profile " + std::string(profile.name));
  }
  if (a.size() != b.size()) {
    throw std::invalid_argument("m8n8k4 needs as many k steps of a as of b");
  }
  if (a.empty()) return;
  WarpAccumulatorTiles accumulators;
  gather(c, accumulators);
  for (std::size_t k = 0; k < a.size(); ++k) {
    WarpOperandTiles operands;
    gather_a(a_major, a[k], operands);
    gather_b(b_major, b[k], operands);
    step<kAccumulator>(profile, operands, accumulators);
  }
  scatter(accumulators, c);
}

}  // namespace

void warp_mma_m8n8k4(const ArithmeticProfile& profile, Major a_major, Major b_major,
                     std::span<const WarpOperands> a, std::span<const WarpOperands> b,
                     AccumulatorFragment<Accumulator::kFp32>* const (&c)[32]) {
  mma_m8n8k4(profile, a_major, b_major, a, b, c);
}

void warp_mma_m8n8k4(const ArithmeticProfile& profile, Major a_major, Major b_major,
                     std::span<const WarpOperands> a, std::span<const WarpOperands> b,
                     AccumulatorFragment<Accumulator::kFp16>* const (&c)[32]) {
  mma_m8n8k4(profile, a_major, b_major, a, b, c);
}

}  // namespace sparkbench
