#include "kernels/machine/emulated/tensor_core/tile_mma.h"

#include <cstdint>
#include <cstdlib>

#include "kernels/machine/emulated/tensor_core/lane_arithmetic.h"
#include "kernels/machine/emulated/tensor_core/operand_exponents.h"
#include "kernels/machine/emulated/tensor_core/vector_clones.h"
#include "kernels/machine/emulated/tensor_core/vector_half.h"

namespace sparkbench {
namespace {

/// A natural number below 2^30 as a float.
struct Rounded {
  float nearest;
  int excess;  // of the nearest float

  SPARKBENCH_LANE std::int32_t toward_zero() const {
    return bits_of(nearest) + mask_less(0, excess);
  }
  /// Toward zero, then the last bit set if bits were lost ("round to odd"): rounding again, to at
  /// most 22 bits, is then as good as rounding once.
  SPARKBENCH_LANE std::int32_t to_odd() const {
    const std::int32_t inexact = (excess | -excess) >> 31;
    return toward_zero() | (inexact & 1);
  }
};

SPARKBENCH_LANE Rounded to_float(int number) {
  const auto nearest = static_cast<float>(number);
  return {nearest, static_cast<int>(nearest) - number};
}

/// The operands of one row of a tile: a of that row, b of the whole tile.
struct RowOperands {
  const float* a;
  const int* a_exponent;
  const float (*b)[8];
  const int (*b_exponent)[8];

  SPARKBENCH_LANE float product(int k, int column) const { return a[k] * b[k][column]; }
  SPARKBENCH_LANE int exponent(int k, int column) const {
    return a_exponent[k] + b_exponent[k][column];
  }
};

struct TensorCore {
  int fraction_bits;  // F, in units of kExponentUnit

  /// How c takes part in the alignment (block_dot.h, step 2).
  template <Accumulator kAccumulator>
  SPARKBENCH_LANE int accumulator_exponent(float c) const {
    const int magnitude = bits_of(c) & 0x7fffffff;
    const int exponent = (magnitude & 0x7f800000) - kBias;
    if constexpr (kAccumulator == Accumulator::kFp32) return larger(exponent, kLeastExponent);
    return select(mask_less(magnitude, 1), 4 * kExponentUnit - fraction_bits,
                  larger(exponent, -14 * kExponentUnit));
  }

  template <Accumulator kAccumulator>
  SPARKBENCH_LANE float dot(const RowOperands& row, int column, float c) const {
    const int product_exponent = larger(larger(row.exponent(0, column), row.exponent(1, column)),
                                        larger(row.exponent(2, column), row.exponent(3, column)));
    const int e_max = larger(product_exponent, accumulator_exponent<kAccumulator>(c));
    const float scale = power_of_two(fraction_bits - e_max);
    const int sum = static_cast<int>(c * scale) + static_cast<int>(row.product(0, column) * scale) +
                    static_cast<int>(row.product(1, column) * scale) +
                    static_cast<int>(row.product(2, column) * scale) +
                    static_cast<int>(row.product(3, column) * scale);
    const std::int32_t sign = sum & static_cast<std::int32_t>(0x80000000u);
    const Rounded magnitude = to_float(std::abs(sum));
    const float unit = power_of_two(e_max - fraction_bits);
    if constexpr (kAccumulator == Accumulator::kFp32) {
      return float_of(bits_of(float_of(magnitude.toward_zero()) * unit) | sign);
    } else {
      const float odd = float_of(magnitude.to_odd()) * unit;
      const std::int32_t rounded = rounded_to_half(bits_of(odd));
      return float_of(rounded | (sign & mask_less(0, rounded)));
    }
  }
};

struct FmaChain {
  template <Accumulator kAccumulator>
  SPARKBENCH_LANE float dot(const RowOperands& row, int column, float c) const {
    if constexpr (kAccumulator == Accumulator::kFp32) {
      const float product =
          (((row.product(0, column) + 0.0f) + row.product(1, column)) + row.product(2, column)) +
          row.product(3, column);
      return canonical(bits_of(c + product), bits_of(c + product) & 0x7fffffff);
    } else {
      const float first = row.product(0, column) + row.product(1, column);
      const float second = row.product(2, column) + row.product(3, column);
      const std::int32_t sum = bits_of((c + first) + second);
      const std::int32_t magnitude = sum & 0x7fffffff;
      const std::int32_t rounded = rounded_to_half(smaller(magnitude, 0x7f800000));
      return canonical(rounded | (sum ^ magnitude), magnitude);
    }
  }

 private:
  /// `result`, or the GPU's one NaN where the sum of that magnitude is a NaN.
  SPARKBENCH_LANE static float canonical(std::int32_t result, std::int32_t magnitude) {
    return float_of(select(mask_less(0x7f800000, magnitude), 0x7fffffff, result));
  }
};

/// The 256 outputs of a warp.
template <Accumulator kAccumulator, typename Arithmetic>
SPARKBENCH_LANE void step(const Arithmetic& arithmetic, const DecodedA& a, const DecodedB& b,
                          WarpAccumulatorTiles& __restrict c) {
  for (int p = 0; p < kQuadPairs; ++p) {
    for (int r = 0; r < 8; ++r) {
      const RowOperands row{a.value[p][r], a.exponent[p][r], b.value[p], b.exponent[p]};
      float* const outputs = c.value[p][r];
      for (int column = 0; column < 8; ++column) {
        outputs[column] = arithmetic.template dot<kAccumulator>(row, column, outputs[column]);
      }
    }
  }
}

SPARKBENCH_VECTOR_CLONES
void tensor_core_fp32(TensorCore core, const DecodedA& a, const DecodedB& b,
                      WarpAccumulatorTiles& __restrict c) {
  step<Accumulator::kFp32>(core, a, b, c);
}

SPARKBENCH_VECTOR_CLONES
void tensor_core_fp16(TensorCore core, const DecodedA& a, const DecodedB& b,
                      WarpAccumulatorTiles& __restrict c) {
  step<Accumulator::kFp16>(core, a, b, c);
}

SPARKBENCH_VECTOR_CLONES
void fma_chain_fp32(const DecodedA& a, const DecodedB& b, WarpAccumulatorTiles& __restrict c) {
  step<Accumulator::kFp32>(FmaChain{}, a, b, c);
}

SPARKBENCH_VECTOR_CLONES
void fma_chain_fp16(const DecodedA& a, const DecodedB& b, WarpAccumulatorTiles& __restrict c) {
  step<Accumulator::kFp16>(FmaChain{}, a, b, c);
}

template <int kRows, int kColumns>
SPARKBENCH_LANE void decode_tiles(const Half (&tiles)[kQuadPairs][kRows][kColumns],
                                  DecodedTiles<kRows, kColumns>& decoded) {
  const Half* const halves = &tiles[0][0][0];
  std::int32_t special = 0;
  for (int i = 0; i < kQuadPairs * kRows * kColumns; ++i) {
    (&decoded.value[0][0][0])[i] = widened(halves[i]);
    (&decoded.exponent[0][0][0])[i] = operand_exponent(halves[i]);
    special |= mask_less(0x7bff, halves[i].bits & 0x7fff);
  }
  decoded.finite = special == 0;
}

}  // namespace

SPARKBENCH_VECTOR_CLONES
void decode(const Half (&a)[kQuadPairs][8][4], DecodedA& decoded) { decode_tiles(a, decoded); }

SPARKBENCH_VECTOR_CLONES
void decode(const Half (&b)[kQuadPairs][4][8], DecodedB& decoded) { decode_tiles(b, decoded); }

SPARKBENCH_VECTOR_CLONES
bool in_vector_range(const WarpAccumulatorTiles& tiles) {
  const float* const values = &tiles.value[0][0][0];
  std::int32_t largest = 0;
  std::uint32_t least = ~0u;  // less one, so that zero wraps around to the largest number of all
  for (int i = 0; i < kQuadPairs * 8 * 8; ++i) {
    const std::int32_t magnitude = bits_of(values[i]) & 0x7fffffff;
    const std::uint32_t less_one = static_cast<std::uint32_t>(magnitude) - 1;
    largest = larger(largest, magnitude);
    least = less_one < least ? less_one : least;
  }
  return largest < 0x7f800000 && least >= kLeastExponent + kBias - 1u;
}

void tensor_core_step(Accumulator accumulator, int fraction_bits, const DecodedA& a,
                      const DecodedB& b, WarpAccumulatorTiles& c) {
  const TensorCore core{fraction_bits * kExponentUnit};
  if (accumulator == Accumulator::kFp16) {
    tensor_core_fp16(core, a, b, c);
  } else {
    tensor_core_fp32(core, a, b, c);
  }
}

void fma_chain_step(Accumulator accumulator, const DecodedA& a, const DecodedB& b,
                    WarpAccumulatorTiles& c) {
  if (accumulator == Accumulator::kFp16) {
    fma_chain_fp16(a, b, c);
  } else {
    fma_chain_fp32(a, b, c);
  }
}

}  // namespace sparkbench
