#include "kernels/machine/emulated/tensor_core/block_dot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "kernels/machine/emulated/tensor_core/fma_chain.h"

namespace sparkbench {
namespace {

enum class Rounding { kTowardZero, kNearestEven };

/// An IEEE 754 format, and how a tensor core treats a C and a D of it.
struct Format {
  int fraction_bits;
  int min_exponent;
  int max_exponent;
  Rounding rounding;
  std::uint32_t sign_bit;
  std::uint32_t infinity;
  std::uint32_t nan;
};

constexpr Format kBinary32{.fraction_bits = 23,
                           .min_exponent = -126,
                           .max_exponent = 127,
                           .rounding = Rounding::kTowardZero,
                           .sign_bit = 0x80000000u,
                           .infinity = 0x7f800000u,
                           .nan = 0x7fffffffu};
constexpr Format kBinary16{.fraction_bits = 10,
                           .min_exponent = -14,
                           .max_exponent = 15,
                           .rounding = Rounding::kNearestEven,
                           .sign_bit = 0x8000u,
                           .infinity = 0x7c00u,
                           .nan = 0x7fffu};

/// The finite number (negative ? -1 : 1) * significand * 2^(exponent - fraction_bits).
struct Term {
  bool negative;
  std::uint32_t significand;
  int exponent;
  int fraction_bits;
};

/// A subnormal number keeps the exponent of the smallest normal one: it is not normalised.
Term decode(std::uint32_t bits, const Format& format) {
  const std::uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
  const std::uint32_t biased = (bits & (format.sign_bit - 1)) >> format.fraction_bits;
  const bool negative = (bits & format.sign_bit) != 0;
  if (biased == 0) return {negative, fraction, format.min_exponent, format.fraction_bits};
  return {negative, fraction | (1u << format.fraction_bits),
          static_cast<int>(biased) - format.max_exponent, format.fraction_bits};
}

/// Exact, and not renormalised: the significand may be in [2, 4).
Term multiply(const Term& a, const Term& b) {
  return {a.negative != b.negative, a.significand * b.significand, a.exponent + b.exponent,
          a.fraction_bits + b.fraction_bits};
}

/// integer * 2^unit_exponent.
struct ExactSum {
  std::int64_t integer;
  int unit_exponent;
};

/// Steps 2 to 4: `terms` truncated to multiples of 2^(e_max - kept_bits) and added. `floor` is the
/// least e_max.
ExactSum align_and_add(std::span<const Term> terms, int kept_bits, int floor) {
  int e_max = floor;
  for (const Term& term : terms) {
    if (term.significand != 0) e_max = std::max(e_max, term.exponent);
  }
  ExactSum sum{.integer = 0, .unit_exponent = e_max - kept_bits};
  for (const Term& term : terms) {
    if (term.significand == 0) continue;
    const std::int64_t widened = static_cast<std::int64_t>(term.significand)
                                 << (kept_bits - term.fraction_bits);
    const std::int64_t truncated = widened >> std::min(e_max - term.exponent, 63);
    sum.integer += term.negative ? -truncated : truncated;
  }
  return sum;
}

/// magnitude / 2^bits as an integer.
std::uint64_t shift_right(std::uint64_t magnitude, int bits, Rounding rounding) {
  const std::uint64_t quotient = magnitude >> bits;
  if (rounding == Rounding::kTowardZero) return quotient;
  const std::uint64_t remainder = magnitude - (quotient << bits);
  const std::uint64_t half = std::uint64_t{1} << (bits - 1);
  const bool up = remainder > half || (remainder == half && (quotient & 1) != 0);
  return quotient + (up ? 1 : 0);
}

/// Step 5. That a negative sum which rounds to zero gives +0 was measured on an H200 (m16n8k16 and
/// m16n8k8: no -0 in 380,000 results made to underflow or cancel) and is assumed for the others, of
/// which no recorded row rounds to zero from below.
std::uint32_t encode(const ExactSum& sum, const Format& format) {
  const auto magnitude = static_cast<std::uint64_t>(std::abs(sum.integer));
  const int leading_bit = static_cast<int>(std::bit_width(magnitude)) - 1;
  const int exponent = std::max(leading_bit + sum.unit_exponent, format.min_exponent);
  const int dropped_bits = exponent - format.fraction_bits - sum.unit_exponent;
  const std::uint64_t significand = dropped_bits > 0
                                        ? shift_right(magnitude, dropped_bits, format.rounding)
                                        : magnitude << -dropped_bits;
  if (significand == 0) return 0;
  // A normal significand carries its leading one into the exponent field, and a significand that
  // was rounded up to the next power of two carries one more.
  const std::uint64_t encoded =
      (static_cast<std::uint64_t>(exponent - format.min_exponent) << format.fraction_bits) +
      significand;
  const auto finite_or_infinite =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(encoded, format.infinity));
  return finite_or_infinite | (sum.integer < 0 ? format.sign_bit : 0u);
}

/// c + a . b, or what IEEE 754 makes of a NaN or an infinity among the terms. No finite term can
/// overflow a double, so the result is not finite exactly when a term is not.
double ieee_dot(std::span<const Half> a, std::span<const Half> b, float c) {
  double sum = c;
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += static_cast<double>(to_float(a[k])) * static_cast<double>(to_float(b[k]));
  }
  return sum;
}

/// The least e_max. With fp32 c no floor shows: Xie et al. find -108 - F, below every non-zero
/// fp16 product and every fp32 number, subnormal ones included.
/// With fp16 c it decides which products of subnormal numbers are lost next to c = 0, and so the
/// rounding of ties near 2^-25. Khattak and Mikaitis give -19, -20 and -21 for F = 23, 24 and 25,
/// Xie et al. one less each. Measured on an H200, F = 25: products below 2^-46 are lost and 2^-46
/// is kept, which is -21, in m16n8k16 and m16n8k8. For F = 23 and 24 it follows the pattern; no
/// recorded V100 or A100 row tells the two values apart.
/// Whether the floor acts always or stands for the exponent of a zero term makes no difference:
/// every fp16 c but zero has an exponent of at least -14.
int least_exponent(const ArithmeticProfile& profile, const Format& format) {
  constexpr int kBelowEveryTerm = -150;
  return format.fraction_bits == kBinary16.fraction_bits ? 4 - profile.fraction_bits
                                                         : kBelowEveryTerm;
}

constexpr std::size_t kLongestBlock = 16;

std::uint32_t block_dot(const ArithmeticProfile& profile, std::span<const Half> a,
                        std::span<const Half> b, std::uint32_t c_bits, float c_value,
                        const Format& format) {
  const double ieee = ieee_dot(a, b, c_value);
  if (std::isnan(ieee)) return format.nan;
  if (std::isinf(ieee)) return format.infinity | (ieee < 0 ? format.sign_bit : 0u);

  std::array<Term, kLongestBlock + 1> terms;
  for (std::size_t k = 0; k < a.size(); ++k) {
    terms[k] = multiply(decode(a[k].bits, kBinary16), decode(b[k].bits, kBinary16));
  }
  terms[a.size()] = decode(c_bits, format);
  const ExactSum sum = align_and_add(std::span(terms).first(a.size() + 1), profile.fraction_bits,
                                     least_exponent(profile, format));
  return encode(sum, format);
}

float one_block(const ArithmeticProfile& profile, std::span<const Half> a, std::span<const Half> b,
                float c) {
  if (profile.is_fma_chain) return fma_chain(a.first<4>(), b.first<4>(), c);
  return float_from_bits(block_dot(profile, a, b, float_bits(c), c, kBinary32));
}

Half one_block(const ArithmeticProfile& profile, std::span<const Half> a, std::span<const Half> b,
               Half c) {
  if (profile.is_fma_chain) return fma_chain(a.first<4>(), b.first<4>(), c);
  return Half{static_cast<std::uint16_t>(block_dot(profile, a, b, c.bits, to_float(c), kBinary16))};
}

template <typename T>
T chain_blocks(const ArithmeticProfile& profile, std::span<const Half> a, std::span<const Half> b,
               T c) {
  if (a.size() != b.size() || a.size() % 4 != 0) {
    throw std::invalid_argument("a and b of a dot product need one length, a multiple of 4");
  }
  const auto block_length = static_cast<std::size_t>(profile.block_length);
  for (std::size_t k = 0; k < a.size(); k += block_length) {
    const std::size_t terms = std::min(block_length, a.size() - k);
    c = one_block(profile, a.subspan(k, terms), b.subspan(k, terms), c);
  }
  return c;
}

}  // namespace

float dot_accumulate(const ArithmeticProfile& profile, std::span<const Half> a,
                     std::span<const Half> b, float c) {
  return chain_blocks(profile, a, b, c);
}

Half dot_accumulate(const ArithmeticProfile& profile, std::span<const Half> a,
                    std::span<const Half> b, Half c) {
  return chain_blocks(profile, a, b, c);
}

}  // namespace sparkbench
