// Tensor instructions in a loop: chains in which each product waits for the one before it, and
// products that do not wait.
//
// Compiled with CUDA 11.8 into the listing of ../testdata that has this file's name:
//   nvcc -arch=sm_70 -O3 -cubin tensor_chains.cu -o tensor_chains.cubin
//   cuobjdump -sass tensor_chains.cubin | tr -s ' ' > tensor_chains.sass

struct Fragment32 {
  float value[8];
};

__device__ void multiply(Fragment32& d, const unsigned (&a)[2], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
      : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3]), "+f"(d.value[4]),
        "+f"(d.value[5]), "+f"(d.value[6]), "+f"(d.value[7])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
}

struct Fragment16 {
  unsigned value[4];
};

__device__ void multiply(Fragment16& d, const unsigned (&a)[2], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, "
      "{%0,%1,%2,%3};"
      : "+r"(d.value[0]), "+r"(d.value[1]), "+r"(d.value[2]), "+r"(d.value[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
}

/// `kProducts` products a turn, dealt out to `kChains` accumulators.
template <class Fragment, int kChains, int kProducts>
__device__ void run(Fragment* out, const unsigned* in, int turns) {
  const unsigned a[2] = {in[threadIdx.x], in[threadIdx.x + 32]};
  const unsigned b[2] = {in[threadIdx.x + 64], in[threadIdx.x + 96]};
  Fragment chains[kChains] = {};
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < kProducts; ++i) multiply(chains[i % kChains], a, b);
  }
#pragma unroll
  for (int i = 0; i < kChains; ++i) out[threadIdx.x + 32 * i] = chains[i];
}

extern "C" __global__ void chain_f32(Fragment32* out, const unsigned* in, int turns) {
  run<Fragment32, 1, 32>(out, in, turns);
}
extern "C" __global__ void chain_f16(Fragment16* out, const unsigned* in, int turns) {
  run<Fragment16, 1, 32>(out, in, turns);
}
extern "C" __global__ void four_chains_f32(Fragment32* out, const unsigned* in, int turns) {
  run<Fragment32, 4, 32>(out, in, turns);
}
extern "C" __global__ void independent_f32(Fragment32* out, const unsigned* in, int turns) {
  run<Fragment32, 8, 32>(out, in, turns);
}
extern "C" __global__ void independent_f16(Fragment16* out, const unsigned* in, int turns) {
  run<Fragment16, 8, 32>(out, in, turns);
}
