// Shared memory and shuffles in a loop: their rate, and the latency of loads that wait for each
// other.
//
// Compiled with CUDA 11.8 into the listing of ../testdata that has this file's name:
//   nvcc -arch=sm_70 -O3 -cubin shared_memory.cu -o shared_memory.cubin
//   cuobjdump -sass shared_memory.cubin | tr -s ' ' > shared_memory.sass

constexpr int kLoads = 16;  // a turn; a sum of them, or the compiler would leave most out

extern "C" __global__ void shuffle(unsigned* data, int turns) {
  unsigned chains[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) chains[i] = data[threadIdx.x + 1024 * i];
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < 2 * kLoads; ++i) {
      asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(chains[i % 8]));
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) data[threadIdx.x + 1024 * i] = chains[i];
}

/// The 32-bit address of this thread's `bytes` in shared memory, and something in there.
__device__ unsigned fill(char* tile, const unsigned* data, int bytes) {
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) {
    reinterpret_cast<unsigned*>(tile)[i] = data[i];
  }
  __syncthreads();
  return static_cast<unsigned>(__cvta_generic_to_shared(tile)) + threadIdx.x % 32 * bytes;
}

extern "C" __global__ void load_32(unsigned* data, int turns) {
  __shared__ char tile[32768];
  const unsigned address = fill(tile, data, 4);
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      unsigned word[1];
      asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(word[0]) : "r"(address + 128 * i));
      sum ^= word[0];
    }
  }
  data[threadIdx.x] = sum;
}

extern "C" __global__ void load_64(unsigned* data, int turns) {
  __shared__ char tile[32768];
  const unsigned address = fill(tile, data, 8);
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      unsigned word[2];
      asm volatile("ld.volatile.shared.v2.b32 {%0,%1}, [%2];"
                   : "=r"(word[0]), "=r"(word[1])
                   : "r"(address + 256 * i));
      sum ^= word[0] ^ word[1];
    }
  }
  data[threadIdx.x] = sum;
}

extern "C" __global__ void load_128(unsigned* data, int turns) {
  __shared__ char tile[32768];
  const unsigned address = fill(tile, data, 16);
  unsigned sum = 0;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      unsigned word[4];
      asm volatile("ld.volatile.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                   : "r"(address + 512 * i));
      sum ^= word[0] ^ word[1] ^ word[2] ^ word[3];
    }
  }
  data[threadIdx.x] = sum;
}

/// Each load's address is a shift of what the one before it brought.
extern "C" __global__ void pointer_chase(unsigned* data, int turns) {
  __shared__ char tile[32768];
  unsigned word = fill(tile, data, 4) / 4;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(word) : "r"(word << 2));
    }
  }
  data[threadIdx.x] = word;
}
