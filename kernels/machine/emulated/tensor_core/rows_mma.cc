#include "kernels/machine/emulated/tensor_core/rows_mma.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/lane_arithmetic.h"
#include "kernels/machine/emulated/tensor_core/operand_exponents.h"
#include "kernels/machine/emulated/tensor_core/vector_clones.h"
#include "kernels/machine/emulated/tensor_core/vector_half.h"

namespace sparkbench {
namespace {

template <int kRows, int kColumns>
struct alignas(64) Decoded {
  float value[kRows][kColumns];
  int exponent[kRows][kColumns];
};
using DecodedRows = Decoded<kMmaRows, kMmaTerms>;
using DecodedColumns = Decoded<kMmaTerms, kMaxMmaColumns>;

/// Decodes the first `columns` of each row. False if there is an infinity or a NaN.
template <class Element, int kRows, int kColumns>
SPARKBENCH_LANE bool decode(const Bits16 (&elements)[kRows][kColumns], int columns,
                            Decoded<kRows, kColumns>& decoded) {
  std::int32_t special = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const Element element{elements[row][column]};
      decoded.value[row][column] = widened(element);
      decoded.exponent[row][column] = operand_exponent(element);
      special |= is_special(element);
    }
  }
  return special == 0;
}

template <class Element>
SPARKBENCH_VECTOR_CLONES bool decode_operands(const RowsOperands& operands, int columns,
                                              DecodedRows& a, DecodedColumns& b) {
  const bool a_is_finite = decode<Element>(operands.a, kMmaTerms, a);
  return decode<Element>(operands.b, columns, b) && a_is_finite;
}

/// A natural number as a float, toward zero.
SPARKBENCH_LANE float truncated_to_float(int number) {
  // From 2^30 on a float drops the last seven bits, and the nearest one may be 2^31, no int.
  const int kept = number & ~(mask_less(0x3fffffff, number) & 0x7f);
  const auto nearest = static_cast<float>(kept);
  return float_of(bits_of(nearest) + mask_less(0, static_cast<int>(nearest) - kept));
}

/// The mask of a c that the vector path cannot take.
SPARKBENCH_LANE std::int32_t out_of_range(float c) {
  const int magnitude = bits_of(c) & 0x7fffffff;
  const std::int32_t tiny = mask_less(0, magnitude) & mask_less(magnitude, kLeastExponent + kBias);
  return tiny | mask_less(0x7f7fffff, magnitude);
}

/// c and a block of products from term kFirst on.
template <int kFirst, int kLength>
struct Block {
  int fraction_bits;  // F, in units of kExponentUnit
  const float* a;     // of a row
  const int* a_exponent;
  const DecodedColumns& b;

  SPARKBENCH_LANE int exponent(int k, int column) const {
    return a_exponent[k] + b.exponent[k][column];
  }
  SPARKBENCH_LANE int term(int k, int column, float scale) const {
    return static_cast<int>(a[k] * b.value[k][column] * scale);
  }

  template <int... kOffsets>
  SPARKBENCH_LANE float dot(int column, float c, std::int32_t& refused,
                            std::integer_sequence<int, kOffsets...>) const {
    int e_max = larger((bits_of(c) & 0x7f800000) - kBias, kLeastExponent);
    ((e_max = larger(e_max, exponent(kFirst + kOffsets, column))), ...);
    const float scale = power_of_two(fraction_bits - e_max);
    // Neither half of 16 terms, each below 2^27, overflows.
    constexpr int kHalf = kFirst + kLength / 2;
    int low = static_cast<int>(c * scale), high = 0;
    ((kFirst + kOffsets < kHalf ? low += term(kFirst + kOffsets, column, scale)
                                : high += term(kFirst + kOffsets, column, scale)),
     ...);
    const auto sum = static_cast<int>(static_cast<unsigned>(low) + static_cast<unsigned>(high));
    refused |= ((low ^ sum) & (high ^ sum)) >> 31;
    const std::int32_t sign = sum & static_cast<std::int32_t>(0x80000000u);
    const int magnitude = static_cast<int>(static_cast<unsigned>(sum ^ (sum >> 31)) +
                                           (static_cast<unsigned>(sum) >> 31));
    const float unit = power_of_two(e_max - fraction_bits);
    return float_of(bits_of(truncated_to_float(magnitude) * unit) | sign);
  }
  SPARKBENCH_LANE float dot(int column, float c, std::int32_t& refused) const {
    return dot(column, c, refused, std::make_integer_sequence<int, kLength>());
  }
};

/// One row into d. False if it cannot do one of its columns.
SPARKBENCH_VECTOR_CLONES
bool multiply_row_16(int fraction_bits, const float* a, const int* a_exponent,
                     const DecodedColumns& b, int columns, const float* __restrict c,
                     float* __restrict d) {
  std::int32_t refused = 0;
  const Block<0, 16> block{fraction_bits, a, a_exponent, b};
  for (int column = 0; column < columns; ++column) {
    refused |= out_of_range(c[column]);
    d[column] = block.dot(column, c[column], refused);
  }
  return refused == 0;
}

/// The same for two blocks of eight terms, one after the other.
SPARKBENCH_VECTOR_CLONES
bool multiply_row_8(int fraction_bits, const float* a, const int* a_exponent,
                    const DecodedColumns& b, int columns, const float* __restrict c,
                    float* __restrict d) {
  std::int32_t refused = 0;
  const Block<0, 8> first{fraction_bits, a, a_exponent, b};
  const Block<8, 8> second{fraction_bits, a, a_exponent, b};
  for (int column = 0; column < columns; ++column) {
    refused |= out_of_range(c[column]);
    const float between = first.dot(column, c[column], refused);
    refused |= out_of_range(between);
    d[column] = second.dot(column, between, refused);
  }
  return refused == 0;
}

template <class Element>
void multiply_row_as_defined(const ArithmeticProfile& profile, const RowsOperands& operands,
                             int row, int columns, float* c) {
  for (int column = 0; column < columns; ++column) {
    c[column] = dot_accumulate(profile, row_of<Element>(operands, row),
                               column_of<Element>(operands, column), c[column]);
  }
}

}  // namespace

template <class Element>
void multiply_rows(const ArithmeticProfile& profile, const RowsOperands& operands, int columns,
                   RowsAccumulator& c) {
  DecodedRows a;
  DecodedColumns b;
  const bool is_finite = decode_operands<Element>(operands, columns, a, b);
  const bool has_one_block = profile.block_length == kMmaTerms;
  const bool is_fast = is_finite && (has_one_block || profile.block_length == kMmaTerms / 2);
  const auto multiply = has_one_block ? multiply_row_16 : multiply_row_8;
  const int fraction_bits = profile.fraction_bits * kExponentUnit;
  for (int row = 0; row < kMmaRows; ++row) {
    float* const values = c.value[row];
    alignas(64) float d[kMaxMmaColumns];
    if (is_fast && multiply(fraction_bits, a.value[row], a.exponent[row], b, columns, values, d)) {
      std::memcpy(values, d, sizeof(float) * static_cast<std::size_t>(columns));
    } else {
      multiply_row_as_defined<Element>(profile, operands, row, columns, values);
    }
  }
}

template void multiply_rows<Half>(const ArithmeticProfile&, const RowsOperands&, int,
                                  RowsAccumulator&);

}  // namespace sparkbench
