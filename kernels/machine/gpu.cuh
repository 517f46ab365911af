// GpuMachine: the instructions of kernel bodies (machine.h) on a GPU. Each function is one
// intrinsic or one PTX instruction, named after what it does, so it costs nothing. Its mma
// instructions: mma/*.cuh; hints to the compiler: codegen.cuh.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/machine/codegen.cuh"
#include "kernels/machine/machine.h"
#include "kernels/machine/mma/m16n8k16.cuh"
#include "kernels/machine/mma/m8n8k4.cuh"
#include "kernels/machine/mma/wgmma.cuh"
#include "kernels/machine/tensor_copy/tensor_copy.cuh"

namespace sparkbench {

/// CUDA's pair of an element type, and its rounding from FP32.
template <class Element>
struct GpuPair;
template <>
struct GpuPair<Half> {
  using Type = __half2;

  __device__ __forceinline__ static Type rounded(float low, float high) {
    return __floats2half2_rn(low, high);
  }
};

class GpuMachine : public GpuCodegen,
                   public GpuM8n8k4,
                   public GpuM16n8k16,
                   public GpuWgmma,
                   public GpuTensorCopy {
 public:
  __device__ __forceinline__ int thread() const { return thread_; }
  __device__ __forceinline__ int lane() const { return thread_ & 31; }
  __device__ __forceinline__ int warp() const { return thread_ >> 5; }
  __device__ __forceinline__ int block(int axis) const {
    int index = 0;
    if (axis == 0) asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(index));
    if (axis == 1) asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(index));
    if (axis == 2) asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(index));
    return index | zero_;
  }

  template <class Tiles>
  __device__ __forceinline__ Tiles& shared() const {
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    return *reinterpret_cast<Tiles*>(shared_bytes);
  }

  template <class T>
  __device__ __forceinline__ T load_global(const void* address) const {
    return load<T>(address);
  }
  template <class T>
  __device__ __forceinline__ void store_global(void* address, T value) const {
    using Scalar = typename Vector<sizeof(T)>::Scalar;
    *static_cast<Scalar*>(address) = reinterpret_cast<const Scalar&>(value);
  }
  template <class T>
  __device__ __forceinline__ T load_shared(const void* address) const {
    return load<T>(address);
  }
  template <class T>
  __device__ __forceinline__ void store_shared(void* address, T value) const {
    store(address, value);
  }
  __device__ __forceinline__ void add_global(float* address, float value) const {
    // Not atomicAdd(): the compiler cannot know that an opaque address is in global memory.
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(address), "f"(value));
  }

  /// Adds to four adjacent sums, aligned to 16 bytes.
  __device__ __forceinline__ void add_global(float* address, const float (&value)[4]) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address),
                 "f"(value[0]), "f"(value[1]), "f"(value[2]), "f"(value[3]));
#else
    __trap();
#endif
  }

  __device__ __forceinline__ int look_for_turn(const std::uint32_t* word,
                                               std::uint32_t turn) const {
    std::uint32_t now;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
    return static_cast<int>(now - turn);
  }
  // Loop and condition in PTX: compilers surround C++ ones with code for diverging lanes.
  __device__ __forceinline__ void await_turn(const std::uint32_t* word, std::uint32_t turn,
                                             bool waits) const {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        ".reg .s32 now;\n"
        "setp.eq.s32 p, %2, 0;\n"
        "@p bra COME;\n"
        "LOOK:\n"
        "ld.acquire.gpu.global.u32 now, [%0];\n"
        "sub.s32 now, now, %1;\n"
        "setp.lt.s32 p, now, 0;\n"
        "@p bra LOOK;\n"
        "COME:\n"
        "}" ::"l"(word),
        "r"(turn), "r"(static_cast<int>(waits))
        : "memory");
  }
  __device__ __forceinline__ void pass_turn(std::uint32_t* word, std::uint32_t turn,
                                            bool passes) const {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.s32 p, %2, 0;\n"
        "@p st.release.gpu.global.u32 [%0], %1;\n"
        "}" ::"l"(word),
        "r"(turn), "r"(static_cast<int>(passes))
        : "memory");
  }

  __device__ __forceinline__ void publish(void* word, const Bits64& value) const {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(word),
                 "l"(reinterpret_cast<const std::uint64_t&>(value))
                 : "memory");
  }
  __device__ __forceinline__ Bits128 look_for_published(const void* words) const {
    std::uint64_t bits[2];
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(bits[0]), "=l"(bits[1])
                 : "l"(words)
                 : "memory");
    return reinterpret_cast<const Bits128&>(bits);
  }
  __device__ __forceinline__ void await_published(const void* words, bool waits) const {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        ".reg .u64 first, second;\n"
        "setp.eq.s32 p, %1, 0;\n"
        "@p bra COME;\n"
        "LOOK:\n"
        "ld.relaxed.gpu.global.v2.u64 {first, second}, [%0];\n"
        "setp.eq.u64 p, first, -1;\n"
        "@p bra LOOK;\n"
        "setp.eq.u64 p, second, -1;\n"
        "@p bra LOOK;\n"
        "COME:\n"
        "}" ::"l"(words),
        "r"(static_cast<int>(waits))
        : "memory");
  }
  __device__ __forceinline__ void acquire_published() const {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }
  template <class T>
  __device__ __forceinline__ T load_published(const void* words) const {
    return load<T>(words);
  }

  __device__ __forceinline__ void copy_async(void* shared, const void* global, bool exists) const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(exists ? 16 : 0)
                 : "memory");
#else
    __trap();
#endif
  }
  __device__ __forceinline__ void commit_copies() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    __trap();
#endif
  }
  template <int kPending>
  __device__ __forceinline__ void wait_for_copies() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#else
    __trap();
#endif
  }

  __device__ __forceinline__ void barrier() const { __syncthreads(); }
  __device__ __forceinline__ void barrier_of_warps() const { __barrier_sync(0); }
  template <int kWarps>
  __device__ __forceinline__ void team_barrier() const {  // 0 is the block's
    asm volatile("bar.sync %0, %1;" ::"r"(1 + warp() / kWarps), "n"(32 * kWarps) : "memory");
  }
  __device__ __forceinline__ void arrive_at_barrier(int id, int warps) const {
    asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(32 * warps) : "memory");
  }
  __device__ __forceinline__ void wait_at_barrier(int id, int warps) const {
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(32 * warps) : "memory");
  }
  __device__ __forceinline__ void sync_warp() const { __syncwarp(); }
  template <class T>
  __device__ __forceinline__ T shuffle_xor(T value, int lane_mask) const {
    return __shfl_xor_sync(0xffffffffu, value, lane_mask);
  }
  __device__ __forceinline__ std::uint32_t ballot(bool value) const {
    return __ballot_sync(0xffffffffu, value);
  }
  __device__ __forceinline__ std::uint32_t transpose_matrix(std::uint32_t pair) const {
#if __CUDA_ARCH__ >= 750
    std::uint32_t result;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
    return result;
#else
    __trap();
    return pair;
#endif
  }
  template <int kLaneBits>
  __device__ __forceinline__ float shuffle_among(float value, int index) const {
    float result;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, %3, 0xffffffff;"
                 : "=f"(result)
                 : "f"(value), "r"(index), "n"((31 & ~kLaneBits) << 8 | 31));
    return result;
  }
  template <int kLaneBits>
  __device__ __forceinline__ int shuffle_among(int value, int index) const {
    int result;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, %3, 0xffffffff;"
                 : "=r"(result)
                 : "r"(value), "r"(index), "n"((31 & ~kLaneBits) << 8 | 31));
    return result;
  }

  __device__ __forceinline__ int lowest_bit(std::uint32_t word) const {
    return __ffs(static_cast<int>(word)) - 1;
  }
  __device__ __forceinline__ float fma(float a, float b, float c) const {
    return __fmaf_rn(a, b, c);
  }
  __device__ __forceinline__ float max_from_zero(float largest, float a, float b) const {
    // Volatile, or the compiler reads a product's accumulators before it has been waited for.
    int bits_of_a, bits_of_b;
    asm volatile("mov.b32 %0, %1;" : "=r"(bits_of_a) : "f"(a));
    asm volatile("mov.b32 %0, %1;" : "=r"(bits_of_b) : "f"(b));
#if __CUDACC_VER_MAJOR__ >= 12
    return __int_as_float(__vimax3_s32(__float_as_int(largest), bits_of_a, bits_of_b));
#else
    return __int_as_float(max(max(__float_as_int(largest), bits_of_a), bits_of_b));
#endif
  }
  __device__ __forceinline__ float exp2(float x) const {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ __forceinline__ float log2(float x) const {
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
  }
  __device__ __forceinline__ float reciprocal(float x) const { return __frcp_rn(x); }
  template <class Element = Half>
  __device__ __forceinline__ std::uint32_t pack_halves(float low, float high) const {
    const auto pair = GpuPair<Element>::rounded(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
  __device__ __forceinline__ std::uint32_t upper_halves(std::uint32_t low,
                                                        std::uint32_t high) const {
    return __byte_perm(low, high, 0x7632);
  }
  __device__ __forceinline__ std::uint32_t permute(std::uint32_t low, std::uint32_t high,
                                                   std::uint32_t selector) const {
    std::uint32_t result;  // the intrinsic is not documented to have signs
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
    return result;
  }
  template <class Element = Half>
  __device__ __forceinline__ float low_half(std::uint32_t pair) const {
    return __low2float(reinterpret_cast<const typename GpuPair<Element>::Type&>(pair));
  }
  template <class Element = Half>
  __device__ __forceinline__ float high_half(std::uint32_t pair) const {
    return __high2float(reinterpret_cast<const typename GpuPair<Element>::Type&>(pair));
  }

 private:
  /// The types that move T with one instruction: a vector type, and a scalar type for stores to
  /// global memory. Compilers split a vector that came from shared memory into four stores of 4
  /// bytes (CUDA 11.8 and 13.0), each of which touches as many sectors as one of 16 bytes.
  template <int kBytes>
  struct Vector;

  template <class T>
  __device__ __forceinline__ static T load(const void* address) {
    using Wide = typename Vector<sizeof(T)>::Type;
    const Wide bits = *static_cast<const Wide*>(address);
    return reinterpret_cast<const T&>(bits);
  }
  template <class T>
  __device__ __forceinline__ static void store(void* address, const T& value) {
    using Wide = typename Vector<sizeof(T)>::Type;
    *static_cast<Wide*>(address) = reinterpret_cast<const Wide&>(value);
  }
};

template <>
struct GpuMachine::Vector<4> {
  using Type = std::uint32_t;
  using Scalar = std::uint32_t;
};
template <>
struct GpuMachine::Vector<8> {
  using Type = uint2;
  using Scalar = std::uint64_t;
};
template <>
struct GpuMachine::Vector<16> {
  using Type = uint4;
  using Scalar = unsigned __int128;
};

}  // namespace sparkbench
