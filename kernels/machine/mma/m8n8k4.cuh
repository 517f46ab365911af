// mma.sync.m8n8k4 on a GPU (fragments: m8n8k4.h). On sm_80 and later it runs on the CUDA cores.
#pragma once

#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {

class GpuM8n8k4 {
 public:
  template <Major kA, Major kB, Operand kHeld, Accumulator kAccumulator, int kSteps, int kM, int kN>
  __device__ __forceinline__ void mma_m8n8k4_outer(
      AccumulatorFragment<kAccumulator>* const (&c)[kM], const OperandFragment (&a)[kSteps][kM],
      const OperandFragment (&b)[kSteps][kN]) const {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kM * kN; ++i) {
        const int x = kHeld == Operand::kA ? i / kN : i % kM;
        const int y = kHeld == Operand::kA ? i % kN : i / kM;
        multiply_add<kA, kB>(c[x][y], a[step][x], b[step][y]);
      }
    }
  }

 private:
  template <Major kA, Major kB, class Fragment>
  __device__ __forceinline__ static void multiply_add(Fragment& c, const OperandFragment& a,
                                                      const OperandFragment& b) {
    static_assert(kA == Major::kRow || kB == Major::kRow, "no kernel multiplies A^T by B^T");
    if constexpr (kA == Major::kColumn) {
      mma_col_row(c, a, b);
    } else if constexpr (kB == Major::kRow) {
      mma_row_row(c, a, b);
    } else {
      mma_row_col(c, a, b);
    }
  }

  using Fp32Fragment = AccumulatorFragment<Accumulator::kFp32>;
  using Fp16Fragment = AccumulatorFragment<Accumulator::kFp16>;

  __device__ __forceinline__ static void mma_row_col(Fp32Fragment& c, const OperandFragment& a,
                                                     const OperandFragment& b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(c.element[0]), "+f"(c.element[1]), "+f"(c.element[2]), "+f"(c.element[3]),
          "+f"(c.element[4]), "+f"(c.element[5]), "+f"(c.element[6]), "+f"(c.element[7])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]), "r"(b.pair[1]));
  }
  __device__ __forceinline__ static void mma_row_row(Fp32Fragment& c, const OperandFragment& a,
                                                     const OperandFragment& b) {
    asm("mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(c.element[0]), "+f"(c.element[1]), "+f"(c.element[2]), "+f"(c.element[3]),
          "+f"(c.element[4]), "+f"(c.element[5]), "+f"(c.element[6]), "+f"(c.element[7])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]), "r"(b.pair[1]));
  }
  __device__ __forceinline__ static void mma_col_row(Fp32Fragment& c, const OperandFragment& a,
                                                     const OperandFragment& b) {
    asm("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(c.element[0]), "+f"(c.element[1]), "+f"(c.element[2]), "+f"(c.element[3]),
          "+f"(c.element[4]), "+f"(c.element[5]), "+f"(c.element[6]), "+f"(c.element[7])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]), "r"(b.pair[1]));
  }
  __device__ __forceinline__ static void mma_row_col(Fp16Fragment& c, const OperandFragment& a,
                                                     const OperandFragment& b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, "
        "{%0,%1,%2,%3};"
        : "+r"(c.pair[0]), "+r"(c.pair[1]), "+r"(c.pair[2]), "+r"(c.pair[3])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]), "r"(b.pair[1]));
  }
  __device__ __forceinline__ static void mma_row_row(Fp16Fragment& c, const OperandFragment& a,
                                                     const OperandFragment& b) {
    asm("mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, "
        "{%0,%1,%2,%3};"
        : "+r"(c.pair[0]), "+r"(c.pair[1]), "+r"(c.pair[2]), "+r"(c.pair[3])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]), "r"(b.pair[1]));
  }
  __device__ __forceinline__ static void mma_col_row(Fp16Fragment& c, const OperandFragment& a,
                                                     const OperandFragment& b) {
    asm("mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, "
        "{%0,%1,%2,%3};"
        : "+r"(c.pair[0]), "+r"(c.pair[1]), "+r"(c.pair[2]), "+r"(c.pair[3])
        : "r"(a.pair[0]), "r"(a.pair[1]), "r"(b.pair[0]), "r"(b.pair[1]));
  }
};

}  // namespace sparkbench
