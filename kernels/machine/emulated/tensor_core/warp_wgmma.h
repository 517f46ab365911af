// One warp's part of wgmma.mma_async.m64nNk16, bit for bit that of m16n8k16: rows of 16 by 16 by N.
#pragma once

#include <array>

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/machine/emulated/tensor_core/rows_mma.h"
#include "kernels/machine/mma/wgmma.h"

namespace sparkbench {

/// Each lane's C fragments, one for each 8 columns.
using WarpAccumulators = std::array<m16n8k16::FragmentC<Accumulator::kFp32>*, 32>;

void gather_a(const std::array<m16n8k16::FragmentA, 32>& fragments, RowsOperands& operands);

/// Makes every element of the n columns a NaN.
void poison(const WarpAccumulators& c, int n);

/// c = a b, or c += a b where it accumulates. `multiply` is multiply_rows of the operands' type.
void warp_wgmma(const ArithmeticProfile& profile, MultiplyRows* multiply,
                const RowsOperands& operands, int n, bool accumulates, const WarpAccumulators& c);

}  // namespace sparkbench
