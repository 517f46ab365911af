#include "kernels/machine/emulated/tensor_core/warp_mma_m8n8k4.h"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/tile_mma.h"
#include "kernels/machine/emulated/tensor_core/warp_tiles.h"

namespace sparkbench {
namespace {

/// A or B of one k step, as it is and decoded.
struct OperandA {
  WarpOperandTiles tiles;
  DecodedA decoded;
};
struct OperandB {
  WarpOperandTiles tiles;
  DecodedB decoded;
};

/// One k step by the definition, for the operands that the vector path leaves out.
template <Accumulator kAccumulator>
void scalar_step(const ArithmeticProfile& profile, const OperandA& a, const OperandB& b,
                 WarpAccumulatorTiles& c) {
  for (int i = 0; i < kQuadPairs * 8 * 8; ++i) {
    const int quad = i / 64;
    const int row = i / 8 % 8;
    const int column = i % 8;
    std::array<Half, 4> b_column;
    for (int k = 0; k < 4; ++k) b_column[k] = b.tiles.b[quad][k][column];
    float& value = c.value[quad][row][column];
    if constexpr (kAccumulator == Accumulator::kFp16) {
      value = to_float(dot_accumulate(profile, a.tiles.a[quad][row], b_column, to_half(value)));
    } else {
      value = dot_accumulate(profile, a.tiles.a[quad][row], b_column, value);
    }
  }
}

template <Accumulator kAccumulator>
void step(const ArithmeticProfile& profile, const OperandA& a, const OperandB& b,
          WarpAccumulatorTiles& c) {
  if (profile.is_fma_chain) {
    fma_chain_step(kAccumulator, a.decoded, b.decoded, c);
  } else if (a.decoded.finite && b.decoded.finite && in_vector_range(c)) {
    tensor_core_step(kAccumulator, profile.fraction_bits, a.decoded, b.decoded, c);
  } else {
    scalar_step<kAccumulator>(profile, a, b, c);
  }
}

void check_operands(const ArithmeticProfile& profile, const OuterOperands& operands) {
  if (!profile.has_m8n8k4) {
    throw std::invalid_argument("no m8n8k4 in the arithmetic profile " + std::string(profile.name));
  }
  const auto& [a, b, m, n] = operands;
  if (m < 1 || m > kMaxOuterFragments || n < 1 || n > kMaxOuterFragments) {
    throw std::invalid_argument("m8n8k4 takes 1 to 4 fragments of each operand");
  }
  if (a.size() % m != 0 || a.size() / m * n != b.size()) {
    throw std::invalid_argument("m8n8k4 needs as many k steps of a as of b");
  }
}

/// The lanes' fragments of product (x, y).
template <Accumulator kAccumulator>
struct LaneFragments {
  LaneFragments(AccumulatorFragment<kAccumulator>* const* c, std::size_t x, std::size_t y) {
    for (std::size_t i = 0; i < 32; ++i) lane[i] = c[32 * x + i] + y;
  }
  AccumulatorFragment<kAccumulator>* lane[32];
};

template <Accumulator kAccumulator>
void mma_m8n8k4_outer(const ArithmeticProfile& profile, Major a_major, Major b_major,
                      const OuterOperands& operands, AccumulatorFragment<kAccumulator>* const* c) {
  check_operands(profile, operands);
  const auto& [lanes_a, lanes_b, m, n] = operands;
  if (lanes_a.empty()) return;
  std::array<OperandA, kMaxOuterFragments> a;
  std::array<OperandB, kMaxOuterFragments> b;
  std::array<WarpAccumulatorTiles, kMaxOuterFragments * kMaxOuterFragments> sums;
  for (std::size_t i = 0; i < m * n; ++i) {
    gather(LaneFragments<kAccumulator>(c, i / n, i % n).lane, sums[i]);
  }
  for (std::size_t k = 0; k < lanes_a.size() / m; ++k) {
    for (std::size_t x = 0; x < m; ++x) {
      gather_a(a_major, lanes_a[m * k + x], a[x].tiles);
      decode(a[x].tiles.a, a[x].decoded);
    }
    for (std::size_t y = 0; y < n; ++y) {
      gather_b(b_major, lanes_b[n * k + y], b[y].tiles);
      decode(b[y].tiles.b, b[y].decoded);
    }
    for (std::size_t i = 0; i < m * n; ++i) {
      step<kAccumulator>(profile, a[i / n], b[i % n], sums[i]);
    }
  }
  for (std::size_t i = 0; i < m * n; ++i) {
    scatter(sums[i], LaneFragments<kAccumulator>(c, i / n, i % n).lane);
  }
}

}  // namespace

void warp_mma_m8n8k4(const ArithmeticProfile& profile, Major a_major, Major b_major,
                     std::span<const WarpOperands> a, std::span<const WarpOperands> b,
                     AccumulatorFragment<Accumulator::kFp32>* const (&c)[32]) {
  mma_m8n8k4_outer(profile, a_major, b_major, {a, b, 1, 1}, c);
}

void warp_mma_m8n8k4(const ArithmeticProfile& profile, Major a_major, Major b_major,
                     std::span<const WarpOperands> a, std::span<const WarpOperands> b,
                     AccumulatorFragment<Accumulator::kFp16>* const (&c)[32]) {
  mma_m8n8k4_outer(profile, a_major, b_major, {a, b, 1, 1}, c);
}

void warp_mma_m8n8k4_outer(const ArithmeticProfile& profile, Major a_major, Major b_major,
                           const OuterOperands& operands,
                           AccumulatorFragment<Accumulator::kFp32>* const* c) {
  mma_m8n8k4_outer(profile, a_major, b_major, operands, c);
}

void warp_mma_m8n8k4_outer(const ArithmeticProfile& profile, Major a_major, Major b_major,
                           const OuterOperands& operands,
                           AccumulatorFragment<Accumulator::kFp16>* const* c) {
  mma_m8n8k4_outer(profile, a_major, b_major, operands, c);
}

}  // namespace sparkbench
