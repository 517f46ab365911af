// The definition of a tensor core's arithmetic, one output element at a time. It is written to be
// compared with the literature, not to be fast; tile_mma.h computes the same bits faster.
//
// One block of L products, d = c + a[0]*b[0] + ... + a[L-1]*b[L-1] (truncated fused dot product
// and add, "T-FDPA"):
//   1. A term's exponent is that of its operands, e(a) + e(b) or e(c). Products are exact and not
//      renormalised; a subnormal number has the exponent of the smallest normal one.
//   2. e_max is the largest exponent of the non-zero terms, c included.
//      With fp16 c it is at least 4 - F.
//   3. Every term is truncated toward zero to a multiple of 2^(e_max - F). No sticky bit.
//   4. The terms are added exactly.
//   5. The sum is rounded once: toward zero to fp32 (but overflow is infinite), to nearest even to
//      fp16. A sum that rounds to zero is +0, whatever its sign.
//   NaN, infinities: as IEEE 754 adds and multiplies, every NaN being 0x7fffffff or 0x7fff.
// Longer products are blocks chained in ascending k: the rounded result of one is the c of the
// next.
//
// Sources: Fasi, Higham, Mikaitis, Pranesh, PeerJ Computer Science 7:e330 (2021); Khattak and
// Mikaitis, arXiv 2512.07004; Xie et al., "MMA-Sim", arXiv 2511.10909.
#pragma once

#include <span>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"

namespace sparkbench {

/// c + a . b as `profile` rounds it, c and the result in fp32. `a` and `b` have the same length, a
/// multiple of 4; else std::invalid_argument. A last block shorter than L is a block of its own.
float dot_accumulate(const ArithmeticProfile& profile, std::span<const Half> a,
                     std::span<const Half> b, float c);

/// The same with c and the result in fp16, which is rounded to after every block.
Half dot_accumulate(const ArithmeticProfile& profile, std::span<const Half> a,
                    std::span<const Half> b, Half c);

}  // namespace sparkbench
