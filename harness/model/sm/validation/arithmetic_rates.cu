// One kind of arithmetic in a loop, eight independent chains of it, so that its unit is always
// busy.
//
// Compiled with CUDA 11.8 into the listing of ../testdata that has this file's name:
//   nvcc -arch=sm_70 -O3 -cubin arithmetic_rates.cu -o arithmetic_rates.cubin
//   cuobjdump -sass arithmetic_rates.cubin | tr -s ' ' > arithmetic_rates.sass

constexpr int kChains = 8;
constexpr int kRounds = 4;  // of each chain, a turn

/// Instructions are volatile assembly, so that each stands in the loop as often as it is written.
template <class Value, class Step>
__device__ void run(Value* data, int turns, Step step) {
  Value chains[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) chains[i] = data[threadIdx.x + 1024 * i];
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < kChains * kRounds; ++i) step(chains[i % kChains]);
  }
#pragma unroll
  for (int i = 0; i < kChains; ++i) data[threadIdx.x + 1024 * i] = chains[i];
}

extern "C" __global__ void fp32_chains(float* data, int turns) {
  const float factor = data[blockIdx.x];
  run(data, turns, [factor](float& x) {
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(factor));
  });
}

/// A logic instruction between any two FFMA.
extern "C" __global__ void fp32_and_logic_chains(float* data, unsigned* bits, int turns) {
  const float factor = data[blockIdx.x];
  const unsigned mask = bits[blockIdx.x];
  unsigned word = bits[threadIdx.x];
  run(data, turns, [&](float& x) {
    asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(factor));
    asm volatile("lop3.b32 %0, %0, %1, %0, 0x96;" : "+r"(word) : "r"(mask));
  });
  bits[threadIdx.x] = word;
}

extern "C" __global__ void fp16_chains(unsigned* data, int turns) {
  const unsigned factor = data[blockIdx.x];
  run(data, turns, [factor](unsigned& x) {
    asm volatile("fma.rn.f16x2 %0, %0, %1, %0;" : "+r"(x) : "r"(factor));
  });
}

extern "C" __global__ void exp2_chains(float* data, int turns) {
  run(data, turns, [](float& x) { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)); });
}

/// Each of another number, and into a sum, or the compiler would leave all but the last out.
extern "C" __global__ void half_conversions(float* data, unsigned* out, int turns) {
  unsigned sum = 0;
  run(data, turns, [&sum](float& x) {
    unsigned short half;
    asm volatile("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    x += 1.0f;
    sum ^= half;
  });
  out[threadIdx.x] = sum;
}

extern "C" __global__ void fp64_chains(double* data, int turns) {
  const double factor = data[blockIdx.x];
  run(data, turns, [factor](double& x) {
    asm volatile("fma.rn.f64 %0, %0, %1, %0;" : "+d"(x) : "d"(factor));
  });
}
