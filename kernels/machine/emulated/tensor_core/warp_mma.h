// The mma instructions of a whole warp, bit for bit. A lane's registers go in and out exactly as
// the instruction takes them: fragment maps in kernels/machine/mma/m8n8k4.h (m8n8k4) and below.
// m8n8k4 is computed with the host's vector instructions, the others from the scalar definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/attention.h"
#include "kernels/half.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {

/// The OperandFragment of each lane of a warp.
struct WarpOperands {
  std::uint32_t pair[32][2];
};

/// mma.sync.m8n8k4, once per k step on one accumulator: c += a[0] * b[0], c += a[1] * b[1], ...
/// c[lane] is that lane's accumulator fragment, updated in place; no two lanes share one.
/// Throws std::invalid_argument when a and b differ in length or the profile lacks m8n8k4.
void warp_mma_m8n8k4(const ArithmeticProfile& profile, Major a_major, Major b_major,
                     std::span<const WarpOperands> a, std::span<const WarpOperands> b,
                     AccumulatorFragment<Accumulator::kFp32>* const (&c)[32]);
void warp_mma_m8n8k4(const ArithmeticProfile& profile, Major a_major, Major b_major,
                     std::span<const WarpOperands> a, std::span<const WarpOperands> b,
                     AccumulatorFragment<Accumulator::kFp16>* const (&c)[32]);

inline constexpr std::size_t kMaxOuterFragments = 4;

/// The operands of m x n products, at most kMaxOuterFragments each, over several k steps: of
/// product (x, y), step k, they are a[m * k + x] and b[n * k + y].
struct OuterOperands {
  std::span<const WarpOperands> a, b;
  std::size_t m, n;
};

/// mma.sync.m8n8k4 for each product and step, every operand decoded once. c[32 * x + lane] points
/// to the lane's fragments of products (x, 0), (x, 1), ... Throws as warp_mma_m8n8k4() does, and
/// for more fragments than kMaxOuterFragments.
void warp_mma_m8n8k4_outer(const ArithmeticProfile& profile, Major a_major, Major b_major,
                           const OuterOperands& operands,
                           AccumulatorFragment<Accumulator::kFp32>* const* c);
void warp_mma_m8n8k4_outer(const ArithmeticProfile& profile, Major a_major, Major b_major,
                           const OuterOperands& operands,
                           AccumulatorFragment<Accumulator::kFp16>* const* c);

/// One lane's A (16 x kK, row-major) and B (kK x 8, column-major) of m16n8k8 and m16n8k16. With
/// group = lane / 4 and pair = lane % 4 (PTX ISA, "Matrix Fragments for mma.m16n8k8/k16"):
///   a[r] holds row group + 8 * (r % 2), columns 2 * pair + 8 * (r / 2) and the next
///   b[r] holds column group, rows 2 * pair + 8 * r and the next
template <int kK>
struct M16n8Operands {
  std::uint32_t a[kK / 4];
  std::uint32_t b[kK / 8];
};

/// One lane's C and D of m16n8k8 and m16n8k16: rows group (first half) and group + 8, columns
/// 2 * pair and the next.
template <Accumulator kAccumulator>
struct M16n8Accumulator;

template <>
struct M16n8Accumulator<Accumulator::kFp32> {
  float element[4];
};

template <>
struct M16n8Accumulator<Accumulator::kFp16> {
  std::uint32_t pair[2];
};

/// mma.sync.m16n8k8 and m16n8k16 (A row-major, B column-major), c[lane] updated in place.
/// Throw std::invalid_argument when the profile lacks the instruction.
void warp_mma_m16n8k8(const ArithmeticProfile& profile, const M16n8Operands<8> (&operands)[32],
                      M16n8Accumulator<Accumulator::kFp32>* const (&c)[32]);
void warp_mma_m16n8k8(const ArithmeticProfile& profile, const M16n8Operands<8> (&operands)[32],
                      M16n8Accumulator<Accumulator::kFp16>* const (&c)[32]);
void warp_mma_m16n8k16(const ArithmeticProfile& profile, const M16n8Operands<16> (&operands)[32],
                       M16n8Accumulator<Accumulator::kFp32>* const (&c)[32]);
void warp_mma_m16n8k16(const ArithmeticProfile& profile, const M16n8Operands<16> (&operands)[32],
                       M16n8Accumulator<Accumulator::kFp16>* const (&c)[32]);

}  // namespace sparkbench
