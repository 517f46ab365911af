// mma.sync.m16n8k16 of a whole warp, bit for bit. A lane's registers go
// in and out exactly as the instruction takes them (kernels/machine/mma/m16n8k16.h).
#pragma once

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/machine/mma/m16n8k16.h"

namespace sparkbench {

/// c += a * b, A row-major and B column-major. *c[lane] is updated in place; no two lanes share
/// one. Throws std::invalid_argument when the profile lacks the instruction.
void warp_mma_m16n8k16(const ArithmeticProfile& profile, const m16n8k16::FragmentA* const (&a)[32],
                       const m16n8k16::FragmentB* const (&b)[32],
                       m16n8k16::FragmentC<Accumulator::kFp32>* const (&c)[32]);
void warp_mma_m16n8k16(const ArithmeticProfile& profile, const m16n8k16::FragmentA* const (&a)[32],
                       const m16n8k16::FragmentB* const (&b)[32],
                       m16n8k16::FragmentC<Accumulator::kFp16>* const (&c)[32]);

}  // namespace sparkbench
