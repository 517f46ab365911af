// mma.sync.m8n8k4 of a whole warp, bit for bit, with the host's vector instructions. A lane's
// registers go in and out exactly as the instruction takes them (kernels/machine/mma/m8n8k4.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/accumulator.h"
#include "kernels/base/half.h"
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

}  // namespace sparkbench
