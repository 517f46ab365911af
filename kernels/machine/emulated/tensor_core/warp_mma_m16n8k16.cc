#include "kernels/machine/emulated/tensor_core/warp_mma_m16n8k16.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/half.h"
#include "kernels/machine/emulated/tensor_core/block_dot.h"

namespace sparkbench {
namespace {

using m16n8k16::FragmentA;
using m16n8k16::FragmentB;
using m16n8k16::FragmentC;

struct Operands {
  Half a[m16n8k16::kM][m16n8k16::kK];  // [row][k]
  Half b[m16n8k16::kN][m16n8k16::kK];  // [column][k]
};

Operands gather(const FragmentA* const (&a)[32], const FragmentB* const (&b)[32]) {
  Operands operands;
  for (int lane = 0; lane < 32; ++lane) {
    Half of_a[8], of_b[4];
    std::memcpy(of_a, a[lane], sizeof of_a);
    std::memcpy(of_b, b[lane], sizeof of_b);
    for (int i = 0; i < 8; ++i) {
      operands.a[m16n8k16::a_row(lane, i)][m16n8k16::a_column(lane, i)] = of_a[i];
    }
    for (int i = 0; i < 4; ++i) {
      operands.b[m16n8k16::b_column(lane)][m16n8k16::b_row(lane, i)] = of_b[i];
    }
  }
  return operands;
}

template <class Element, Accumulator kAccumulator>
void multiply(const ArithmeticProfile& profile, const FragmentA* const (&a)[32],
              const FragmentB* const (&b)[32], FragmentC<kAccumulator>* const (&c)[32]) {
  if (!profile.has_m16n8k16) {
    throw std::invalid_argument("no m16n8k16 in the arithmetic profile " +
                                std::string(profile.name));
  }
  const Operands operands = gather(a, b);
  for (int lane = 0; lane < 32; ++lane) {
    Element elements[4];
    static_assert(sizeof elements == sizeof(FragmentC<kAccumulator>));
    std::memcpy(elements, c[lane], sizeof elements);
    for (int i = 0; i < 4; ++i) {
      elements[i] = dot_accumulate(profile, operands.a[m16n8k16::c_row(lane, i)],
                                   operands.b[m16n8k16::c_column(lane, i)], elements[i]);
    }
    std::memcpy(c[lane], elements, sizeof elements);
  }
}

}  // namespace

void warp_mma_m16n8k16(const ArithmeticProfile& profile, const FragmentA* const (&a)[32],
                       const FragmentB* const (&b)[32],
                       FragmentC<Accumulator::kFp32>* const (&c)[32]) {
  multiply<float>(profile, a, b, c);
}

void warp_mma_m16n8k16(const ArithmeticProfile& profile, const FragmentA* const (&a)[32],
                       const FragmentB* const (&b)[32],
                       FragmentC<Accumulator::kFp16>* const (&c)[32]) {
  multiply<Half>(profile, a, b, c);
}

}  // namespace sparkbench
