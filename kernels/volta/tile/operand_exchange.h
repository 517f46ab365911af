// From the C fragment of one product to the A operand of the next (paper, section 3.2.2, figure 8).
#pragma once

#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {

/// Rounds the eight values of one 8x8 tile that this lane owns to fp16 and hands every lane the
/// whole row that an A fragment wants: columns 0..3, then 4..7.
/// FP16-ACC (figure 8a): the lane already owns that row; nothing moves.
template <Accumulator kAccumulator, class Machine>
SPARK_DEVICE void to_operand_rows(Machine& machine, const float (&value)[8],
                                  OperandFragment (&operand)[2]) {
  const std::uint32_t p01 = machine.pack_halves(value[0], value[1]);
  const std::uint32_t p23 = machine.pack_halves(value[2], value[3]);
  const std::uint32_t p45 = machine.pack_halves(value[4], value[5]);
  const std::uint32_t p67 = machine.pack_halves(value[6], value[7]);
  if constexpr (kAccumulator == Accumulator::kFp16) {
    operand[0] = {{p01, p23}};
    operand[1] = {{p45, p67}};
  } else {
    // Figure 8b: lanes L and L^2 each own half of rows L&1 and (L&1)+2. Each keeps its half of
    // the row that it will own (L%4) and gives away the other.
    const bool owns_second_row = (machine.lane() & 2) != 0;
    const std::uint32_t received_low = machine.shuffle_xor(owns_second_row ? p01 : p23, 2);
    const std::uint32_t received_high = machine.shuffle_xor(owns_second_row ? p45 : p67, 2);
    operand[0] = {{owns_second_row ? received_low : p01, owns_second_row ? p23 : received_low}};
    operand[1] = {{owns_second_row ? received_high : p45, owns_second_row ? p67 : received_high}};
  }
}

}  // namespace sparkbench
