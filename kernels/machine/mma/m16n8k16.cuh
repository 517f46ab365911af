// mma.sync.m16n8k16 on a GPU (fragments: m16n8k16.h). On GPUs before sm_80, which lack it, it
// traps.
#pragma once

#include "kernels/machine/mma/m16n8k16.h"

namespace sparkbench {

class GpuM16n8k16 {
 public:
  template <Operand kHeld, Accumulator kAccumulator, int kSteps, int kM, int kN>
  __device__ __forceinline__ void mma_m16n8k16_outer(
      m16n8k16::FragmentC<kAccumulator>* const (&c)[kM], const m16n8k16::FragmentA (&a)[kSteps][kM],
      const m16n8k16::FragmentB (&b)[kSteps][kN]) const {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kM * kN; ++i) {
        const int x = kHeld == Operand::kA ? i / kN : i % kM;
        const int y = kHeld == Operand::kA ? i % kN : i / kM;
        multiply_add(c[x][y], a[step][x], b[step][y]);
      }
    }
  }

 private:
  using Fp32Fragment = m16n8k16::FragmentC<Accumulator::kFp32>;
  using Fp16Fragment = m16n8k16::FragmentC<Accumulator::kFp16>;

  __device__ __forceinline__ static void multiply_add(Fp32Fragment& c, const m16n8k16::FragmentA& a,
                                                      const m16n8k16::FragmentB& b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c.element[0]), "+f"(c.element[1]), "+f"(c.element[2]), "+f"(c.element[3])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]),
          "r"(b.pair[1]));
#else
    __trap();
#endif
  }
  __device__ __forceinline__ static void multiply_add(Fp16Fragment& c, const m16n8k16::FragmentA& a,
                                                      const m16n8k16::FragmentB& b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, "
        "{%0,%1};"
        : "+r"(c.pair[0]), "+r"(c.pair[1])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "r"(b.pair[0]),
          "r"(b.pair[1]));
#else
    __trap();
#endif
  }
};

}  // namespace sparkbench
