// The main loop of a matrix product: tiles of 128x32 and 32x128 through shared memory, the next
// ones fetched while these are multiplied, a warp computes 64x64 with m8n8k4. What it computes is
// no matrix product, since where an element of a tile lies does not matter to time; conflicts of
// shared memory's banks are avoided by reading what lies next to each other.
//
// Compiled with CUDA 11.8 into the listing of ../testdata that has this file's name:
//   nvcc -arch=sm_70 -O3 -cubin tensor_gemm.cu -o tensor_gemm.cubin
//   cuobjdump -sass tensor_gemm.cubin | tr -s ' ' > tensor_gemm.sass

constexpr int kDepth = 32;
constexpr int kTileWords = 128 * kDepth / 8;  // of 16 bytes, an operand
constexpr int kThreads = 128;
constexpr int kFetches = kTileWords / kThreads;

__device__ void multiply(float (&d)[8], const unsigned* a, const unsigned* b) {
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    gemm(float* out, const uint4* a, const uint4* b, int steps) {
  __shared__ uint4 tiles[2][2][kTileWords];  // [buffer][operand][words]
  float sums[4][4][8] = {};                  // of four by four products of 16x16
  uint4 fetched[2][kFetches];
  const auto fetch = [&](int step) {
#pragma unroll
    for (int i = 0; i < kFetches; ++i) {
      const int word = step * kTileWords + i * kThreads + threadIdx.x;
      fetched[0][i] = a[word];
      fetched[1][i] = b[word];
    }
  };
  const auto store = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < kFetches; ++i) {
      tiles[buffer][0][i * kThreads + threadIdx.x] = fetched[0][i];
      tiles[buffer][1][i * kThreads + threadIdx.x] = fetched[1][i];
    }
  };
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  fetch(0);
  store(0);
  __syncthreads();
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    fetch(step + 1);
#pragma unroll
    for (int depth = 0; depth < kDepth / 8; ++depth) {
      unsigned rows[4][4], columns[4][4];  // a lane's 8 elements of 16x8
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint4 row = tiles[step % 2][0][(warp / 2 * 4 + i) * 64 + depth * 16 + lane % 16];
        const uint4 column = tiles[step % 2][1][(warp % 2 * 4 + i) * 64 + depth * 16 + lane % 16];
        rows[i][0] = row.x, rows[i][1] = row.y, rows[i][2] = row.z, rows[i][3] = row.w;
        columns[i][0] = column.x, columns[i][1] = column.y;
        columns[i][2] = column.z, columns[i][3] = column.w;
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int row = 0; row < 4; ++row) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int column = row % 2 == 0 ? i : 3 - i;
            multiply(sums[row][column], rows[row] + 2 * half, columns[column] + 2 * half);
          }
        }
      }
    }
    store((step + 1) % 2);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 128; ++i) {
    out[(blockIdx.x * 128 + i) * kThreads + threadIdx.x] = sums[i / 32][i / 8 % 4][i % 8];
  }
}
