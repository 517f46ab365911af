// mma.m8n8k4 as GPUs since sm_80 run it: no tensor core, but a subroutine of FP32 multiply-adds on
// the CUDA cores, read off the machine code that ptxas 11.8 and 13.0 emit for sm_80 to sm_100.
#pragma once

#include <span>

#include "kernels/base/half.h"

namespace sparkbench {

/// c + fma(a3, b3, fma(a2, b2, fma(a1, b1, fma(a0, b0, +0)))), every step rounded to nearest.
/// A NaN is 0x7fffffff.
float fma_chain(std::span<const Half, 4> a, std::span<const Half, 4> b, float c);

/// (c + fma(a1, b1, a0*b0)) + fma(a3, b3, a2*b2) in fp32, then rounded to fp16. A NaN is 0x7fff.
Half fma_chain(std::span<const Half, 4> a, std::span<const Half, 4> b, Half c);

}  // namespace sparkbench
