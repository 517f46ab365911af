#include "kernels/machine/emulated/tensor_core/warp_mma_m16n8k16.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/rows_mma.h"

namespace sparkbench {
namespace {

using m16n8k16::FragmentA;
using m16n8k16::FragmentB;
using m16n8k16::FragmentC;

void expect_instruction(const ArithmeticProfile& profile) {
  if (profile.has_m16n8k16) return;
  throw std::invalid_argument("no m16n8k16 in the arithmetic profile " + std::string(profile.name));
}

RowsOperands gather(const FragmentA* const (&a)[32], const FragmentB* const (&b)[32]) {
  RowsOperands operands;
  for (int lane = 0; lane < 32; ++lane) {
    Bits16 of_a[8], of_b[4];
    std::memcpy(of_a, a[lane], sizeof of_a);
    std::memcpy(of_b, b[lane], sizeof of_b);
    for (int i = 0; i < 8; ++i) {
      operands.a[m16n8k16::a_row(lane, i)][m16n8k16::a_column(lane, i)] = of_a[i];
    }
    for (int i = 0; i < 4; ++i) {
      operands.b[m16n8k16::b_row(lane, i)][m16n8k16::b_column(lane)] = of_b[i];
    }
  }
  return operands;
}

}  // namespace

void warp_mma_m16n8k16(const ArithmeticProfile& profile, const FragmentA* const (&a)[32],
                       const FragmentB* const (&b)[32],
                       FragmentC<Accumulator::kFp32>* const (&c)[32]) {
  expect_instruction(profile);
  RowsAccumulator rows;
  const auto element = [&](int lane, int i) -> float& {
    return rows.value[m16n8k16::c_row(lane, i)][m16n8k16::c_column(lane, i)];
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) element(lane, i) = c[lane]->element[i];
  }
  multiply_rows<Half>(profile, gather(a, b), m16n8k16::kN, rows);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) c[lane]->element[i] = element(lane, i);
  }
}

void warp_mma_m16n8k16(const ArithmeticProfile& profile, const FragmentA* const (&a)[32],
                       const FragmentB* const (&b)[32],
                       FragmentC<Accumulator::kFp16>* const (&c)[32]) {
  expect_instruction(profile);
  const RowsOperands operands = gather(a, b);
  for (int lane = 0; lane < 32; ++lane) {
    Half elements[4];
    std::memcpy(elements, c[lane], sizeof elements);
    for (int i = 0; i < 4; ++i) {
      elements[i] =
          dot_accumulate(profile, row_of<Half>(operands, m16n8k16::c_row(lane, i)),
                         column_of<Half>(operands, m16n8k16::c_column(lane, i)), elements[i]);
    }
    std::memcpy(c[lane], elements, sizeof elements);
  }
}

}  // namespace sparkbench
