// wgmma on a GPU (operands and descriptors: wgmma.h). Only sm_90a has it; elsewhere it traps.
#pragma once

#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/machine/mma/wgmma.h"

namespace sparkbench {

/// wgmma.mma_async.m64nNk16 in f32, for one type of both operands and one N.
template <class Element, int kN>
struct GpuWgmmaProduct;

// An asm's text is a literal, and names each register by its number, so C++ cannot express one
// instruction for all N. These macros do: SPARKBENCH_WGMMA_D<N> are the accumulators' numbers,
// SPARKBENCH_WGMMA_C<N> the accumulators.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// clang-format off
#define SPARKBENCH_WGMMA_D8 "%0, %1, %2, %3"
#define SPARKBENCH_WGMMA_D16 SPARKBENCH_WGMMA_D8 ", %4, %5, %6, %7"
#define SPARKBENCH_WGMMA_D24 SPARKBENCH_WGMMA_D16 ", %8, %9, %10, %11"
#define SPARKBENCH_WGMMA_D32 SPARKBENCH_WGMMA_D24 ", %12, %13, %14, %15"
#define SPARKBENCH_WGMMA_D40 SPARKBENCH_WGMMA_D32 ", %16, %17, %18, %19"
#define SPARKBENCH_WGMMA_D48 SPARKBENCH_WGMMA_D40 ", %20, %21, %22, %23"
#define SPARKBENCH_WGMMA_D56 SPARKBENCH_WGMMA_D48 ", %24, %25, %26, %27"
#define SPARKBENCH_WGMMA_D64 SPARKBENCH_WGMMA_D56 ", %28, %29, %30, %31"
#define SPARKBENCH_WGMMA_D72 SPARKBENCH_WGMMA_D64 ", %32, %33, %34, %35"
#define SPARKBENCH_WGMMA_D80 SPARKBENCH_WGMMA_D72 ", %36, %37, %38, %39"
#define SPARKBENCH_WGMMA_D88 SPARKBENCH_WGMMA_D80 ", %40, %41, %42, %43"
#define SPARKBENCH_WGMMA_D96 SPARKBENCH_WGMMA_D88 ", %44, %45, %46, %47"
#define SPARKBENCH_WGMMA_D104 SPARKBENCH_WGMMA_D96 ", %48, %49, %50, %51"
#define SPARKBENCH_WGMMA_D112 SPARKBENCH_WGMMA_D104 ", %52, %53, %54, %55"
#define SPARKBENCH_WGMMA_D120 SPARKBENCH_WGMMA_D112 ", %56, %57, %58, %59"
#define SPARKBENCH_WGMMA_D128 SPARKBENCH_WGMMA_D120 ", %60, %61, %62, %63"
#define SPARKBENCH_WGMMA_D136 SPARKBENCH_WGMMA_D128 ", %64, %65, %66, %67"
#define SPARKBENCH_WGMMA_D144 SPARKBENCH_WGMMA_D136 ", %68, %69, %70, %71"
#define SPARKBENCH_WGMMA_D152 SPARKBENCH_WGMMA_D144 ", %72, %73, %74, %75"
#define SPARKBENCH_WGMMA_D160 SPARKBENCH_WGMMA_D152 ", %76, %77, %78, %79"
#define SPARKBENCH_WGMMA_D168 SPARKBENCH_WGMMA_D160 ", %80, %81, %82, %83"
#define SPARKBENCH_WGMMA_D176 SPARKBENCH_WGMMA_D168 ", %84, %85, %86, %87"
#define SPARKBENCH_WGMMA_D184 SPARKBENCH_WGMMA_D176 ", %88, %89, %90, %91"
#define SPARKBENCH_WGMMA_D192 SPARKBENCH_WGMMA_D184 ", %92, %93, %94, %95"
#define SPARKBENCH_WGMMA_D200 SPARKBENCH_WGMMA_D192 ", %96, %97, %98, %99"
#define SPARKBENCH_WGMMA_D208 SPARKBENCH_WGMMA_D200 ", %100, %101, %102, %103"
#define SPARKBENCH_WGMMA_D216 SPARKBENCH_WGMMA_D208 ", %104, %105, %106, %107"
#define SPARKBENCH_WGMMA_D224 SPARKBENCH_WGMMA_D216 ", %108, %109, %110, %111"
#define SPARKBENCH_WGMMA_D232 SPARKBENCH_WGMMA_D224 ", %112, %113, %114, %115"
#define SPARKBENCH_WGMMA_D240 SPARKBENCH_WGMMA_D232 ", %116, %117, %118, %119"
#define SPARKBENCH_WGMMA_D248 SPARKBENCH_WGMMA_D240 ", %120, %121, %122, %123"
#define SPARKBENCH_WGMMA_D256 SPARKBENCH_WGMMA_D248 ", %124, %125, %126, %127"
#define SPARKBENCH_WGMMA_FRAGMENT(i) \
  "+f"(c[i].element[0]), "+f"(c[i].element[1]), "+f"(c[i].element[2]), "+f"(c[i].element[3])
#define SPARKBENCH_WGMMA_C8 SPARKBENCH_WGMMA_FRAGMENT(0)
#define SPARKBENCH_WGMMA_C16 SPARKBENCH_WGMMA_C8, SPARKBENCH_WGMMA_FRAGMENT(1)
#define SPARKBENCH_WGMMA_C24 SPARKBENCH_WGMMA_C16, SPARKBENCH_WGMMA_FRAGMENT(2)
#define SPARKBENCH_WGMMA_C32 SPARKBENCH_WGMMA_C24, SPARKBENCH_WGMMA_FRAGMENT(3)
#define SPARKBENCH_WGMMA_C40 SPARKBENCH_WGMMA_C32, SPARKBENCH_WGMMA_FRAGMENT(4)
#define SPARKBENCH_WGMMA_C48 SPARKBENCH_WGMMA_C40, SPARKBENCH_WGMMA_FRAGMENT(5)
#define SPARKBENCH_WGMMA_C56 SPARKBENCH_WGMMA_C48, SPARKBENCH_WGMMA_FRAGMENT(6)
#define SPARKBENCH_WGMMA_C64 SPARKBENCH_WGMMA_C56, SPARKBENCH_WGMMA_FRAGMENT(7)
#define SPARKBENCH_WGMMA_C72 SPARKBENCH_WGMMA_C64, SPARKBENCH_WGMMA_FRAGMENT(8)
#define SPARKBENCH_WGMMA_C80 SPARKBENCH_WGMMA_C72, SPARKBENCH_WGMMA_FRAGMENT(9)
#define SPARKBENCH_WGMMA_C88 SPARKBENCH_WGMMA_C80, SPARKBENCH_WGMMA_FRAGMENT(10)
#define SPARKBENCH_WGMMA_C96 SPARKBENCH_WGMMA_C88, SPARKBENCH_WGMMA_FRAGMENT(11)
#define SPARKBENCH_WGMMA_C104 SPARKBENCH_WGMMA_C96, SPARKBENCH_WGMMA_FRAGMENT(12)
#define SPARKBENCH_WGMMA_C112 SPARKBENCH_WGMMA_C104, SPARKBENCH_WGMMA_FRAGMENT(13)
#define SPARKBENCH_WGMMA_C120 SPARKBENCH_WGMMA_C112, SPARKBENCH_WGMMA_FRAGMENT(14)
#define SPARKBENCH_WGMMA_C128 SPARKBENCH_WGMMA_C120, SPARKBENCH_WGMMA_FRAGMENT(15)
#define SPARKBENCH_WGMMA_C136 SPARKBENCH_WGMMA_C128, SPARKBENCH_WGMMA_FRAGMENT(16)
#define SPARKBENCH_WGMMA_C144 SPARKBENCH_WGMMA_C136, SPARKBENCH_WGMMA_FRAGMENT(17)
#define SPARKBENCH_WGMMA_C152 SPARKBENCH_WGMMA_C144, SPARKBENCH_WGMMA_FRAGMENT(18)
#define SPARKBENCH_WGMMA_C160 SPARKBENCH_WGMMA_C152, SPARKBENCH_WGMMA_FRAGMENT(19)
#define SPARKBENCH_WGMMA_C168 SPARKBENCH_WGMMA_C160, SPARKBENCH_WGMMA_FRAGMENT(20)
#define SPARKBENCH_WGMMA_C176 SPARKBENCH_WGMMA_C168, SPARKBENCH_WGMMA_FRAGMENT(21)
#define SPARKBENCH_WGMMA_C184 SPARKBENCH_WGMMA_C176, SPARKBENCH_WGMMA_FRAGMENT(22)
#define SPARKBENCH_WGMMA_C192 SPARKBENCH_WGMMA_C184, SPARKBENCH_WGMMA_FRAGMENT(23)
#define SPARKBENCH_WGMMA_C200 SPARKBENCH_WGMMA_C192, SPARKBENCH_WGMMA_FRAGMENT(24)
#define SPARKBENCH_WGMMA_C208 SPARKBENCH_WGMMA_C200, SPARKBENCH_WGMMA_FRAGMENT(25)
#define SPARKBENCH_WGMMA_C216 SPARKBENCH_WGMMA_C208, SPARKBENCH_WGMMA_FRAGMENT(26)
#define SPARKBENCH_WGMMA_C224 SPARKBENCH_WGMMA_C216, SPARKBENCH_WGMMA_FRAGMENT(27)
#define SPARKBENCH_WGMMA_C232 SPARKBENCH_WGMMA_C224, SPARKBENCH_WGMMA_FRAGMENT(28)
#define SPARKBENCH_WGMMA_C240 SPARKBENCH_WGMMA_C232, SPARKBENCH_WGMMA_FRAGMENT(29)
#define SPARKBENCH_WGMMA_C248 SPARKBENCH_WGMMA_C240, SPARKBENCH_WGMMA_FRAGMENT(30)
#define SPARKBENCH_WGMMA_C256 SPARKBENCH_WGMMA_C248, SPARKBENCH_WGMMA_FRAGMENT(31)
// clang-format on

// r0 and on are the numbers of the operands after the accumulators; `types` are those of
// A and B in PTX.
#define SPARKBENCH_WGMMA(Element, types, n, r0, r1, r2, r3, r4, r5, r6)                            \
  template <>                                                                                      \
  struct GpuWgmmaProduct<Element, n> {                                                             \
    using Fragment = m16n8k16::FragmentC<Accumulator::kFp32>;                                      \
    template <bool kTransposeB, bool kTransposeA>                                                  \
    __device__ __forceinline__ static void multiply(Fragment (&c)[(n) / 8], std::uint64_t a,       \
                                                    std::uint64_t b, int accumulate) {             \
      asm volatile(                                                                                \
          "{.reg .pred p; setp.ne.b32 p, %" #r2                                                    \
          ", 0; "                                                                                  \
          "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." types                                  \
          " "                                                                                      \
          "{" SPARKBENCH_WGMMA_D##n "}, %" #r0 ", %" #r1 ", p, 1, 1, %" #r4 ", %" #r3 ";}"         \
          : SPARKBENCH_WGMMA_C##n                                                                  \
          : "l"(a), "l"(b), "r"(accumulate), "n"(kTransposeB ? 1 : 0), "n"(kTransposeA ? 1 : 0));  \
    }                                                                                              \
    template <bool kTransposeB>                                                                    \
    __device__ __forceinline__ static void multiply(Fragment (&c)[(n) / 8],                        \
                                                    const m16n8k16::FragmentA& a, std::uint64_t b, \
                                                    int accumulate) {                              \
      asm volatile("{.reg .pred p; setp.ne.b32 p, %" #r5                                           \
                   ", 0; "                                                                         \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." types                         \
                   " "                                                                             \
                   "{" SPARKBENCH_WGMMA_D##n "}, {%" #r0 ", %" #r1 ", %" #r2 ", %" #r3             \
                                             "}, "                                                 \
                                             "%" #r4 ", p, 1, 1, %" #r6 ";}"                       \
                   : SPARKBENCH_WGMMA_C##n                                                         \
                   : "r"(a.pair[0]), "r"(a.pair[1]), "r"(a.pair[2]), "r"(a.pair[3]), "l"(b),       \
                     "r"(accumulate), "n"(kTransposeB ? 1 : 0));                                   \
    }                                                                                              \
  };
#define SPARKBENCH_WGMMA_PRODUCTS(Element, types)                          \
  SPARKBENCH_WGMMA(Element, types, 8, 4, 5, 6, 7, 8, 9, 10)                \
  SPARKBENCH_WGMMA(Element, types, 16, 8, 9, 10, 11, 12, 13, 14)           \
  SPARKBENCH_WGMMA(Element, types, 24, 12, 13, 14, 15, 16, 17, 18)         \
  SPARKBENCH_WGMMA(Element, types, 32, 16, 17, 18, 19, 20, 21, 22)         \
  SPARKBENCH_WGMMA(Element, types, 40, 20, 21, 22, 23, 24, 25, 26)         \
  SPARKBENCH_WGMMA(Element, types, 48, 24, 25, 26, 27, 28, 29, 30)         \
  SPARKBENCH_WGMMA(Element, types, 56, 28, 29, 30, 31, 32, 33, 34)         \
  SPARKBENCH_WGMMA(Element, types, 64, 32, 33, 34, 35, 36, 37, 38)         \
  SPARKBENCH_WGMMA(Element, types, 72, 36, 37, 38, 39, 40, 41, 42)         \
  SPARKBENCH_WGMMA(Element, types, 80, 40, 41, 42, 43, 44, 45, 46)         \
  SPARKBENCH_WGMMA(Element, types, 88, 44, 45, 46, 47, 48, 49, 50)         \
  SPARKBENCH_WGMMA(Element, types, 96, 48, 49, 50, 51, 52, 53, 54)         \
  SPARKBENCH_WGMMA(Element, types, 104, 52, 53, 54, 55, 56, 57, 58)        \
  SPARKBENCH_WGMMA(Element, types, 112, 56, 57, 58, 59, 60, 61, 62)        \
  SPARKBENCH_WGMMA(Element, types, 120, 60, 61, 62, 63, 64, 65, 66)        \
  SPARKBENCH_WGMMA(Element, types, 128, 64, 65, 66, 67, 68, 69, 70)        \
  SPARKBENCH_WGMMA(Element, types, 136, 68, 69, 70, 71, 72, 73, 74)        \
  SPARKBENCH_WGMMA(Element, types, 144, 72, 73, 74, 75, 76, 77, 78)        \
  SPARKBENCH_WGMMA(Element, types, 152, 76, 77, 78, 79, 80, 81, 82)        \
  SPARKBENCH_WGMMA(Element, types, 160, 80, 81, 82, 83, 84, 85, 86)        \
  SPARKBENCH_WGMMA(Element, types, 168, 84, 85, 86, 87, 88, 89, 90)        \
  SPARKBENCH_WGMMA(Element, types, 176, 88, 89, 90, 91, 92, 93, 94)        \
  SPARKBENCH_WGMMA(Element, types, 184, 92, 93, 94, 95, 96, 97, 98)        \
  SPARKBENCH_WGMMA(Element, types, 192, 96, 97, 98, 99, 100, 101, 102)     \
  SPARKBENCH_WGMMA(Element, types, 200, 100, 101, 102, 103, 104, 105, 106) \
  SPARKBENCH_WGMMA(Element, types, 208, 104, 105, 106, 107, 108, 109, 110) \
  SPARKBENCH_WGMMA(Element, types, 216, 108, 109, 110, 111, 112, 113, 114) \
  SPARKBENCH_WGMMA(Element, types, 224, 112, 113, 114, 115, 116, 117, 118) \
  SPARKBENCH_WGMMA(Element, types, 232, 116, 117, 118, 119, 120, 121, 122) \
  SPARKBENCH_WGMMA(Element, types, 240, 120, 121, 122, 123, 124, 125, 126) \
  SPARKBENCH_WGMMA(Element, types, 248, 124, 125, 126, 127, 128, 129, 130) \
  SPARKBENCH_WGMMA(Element, types, 256, 128, 129, 130, 131, 132, 133, 134)
SPARKBENCH_WGMMA_PRODUCTS(Half, "f16.f16")

#undef SPARKBENCH_WGMMA_PRODUCTS
#undef SPARKBENCH_WGMMA
#undef SPARKBENCH_WGMMA_FRAGMENT
#endif

class GpuWgmma {
 public:
  __device__ __forceinline__ std::uint64_t describe_matrix(const void* shared, int leading_bytes,
                                                           int stride_bytes) const {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    return wgmma::matrix_descriptor(address, leading_bytes, stride_bytes);
  }
  __device__ __forceinline__ void fence_async_proxy() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
    __trap();
#endif
  }
  __device__ __forceinline__ void fence_products() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
    __trap();
#endif
  }
  __device__ __forceinline__ void commit_products() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
    __trap();
#endif
  }
  template <int kPending>
  __device__ __forceinline__ void wait_for_products() const {
    static_assert(kPending >= 0 && kPending < 8, "wgmma.wait_group counts up to 7");
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#else
    __trap();
#endif
  }

  template <class Element, int kN, Major kMajorB, Major kMajorA = Major::kRow>
  __device__ __forceinline__ void multiply_async(
      m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kN / 8], std::uint64_t a, std::uint64_t b,
      bool accumulate) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    GpuWgmmaProduct<Element, kN>::template multiply<kMajorB == Major::kRow,
                                                    kMajorA == Major::kColumn>(c, a, b,
                                                                               accumulate ? 1 : 0);
#else
    __trap();
#endif
  }
  template <class Element, int kN, Major kMajorB>
  __device__ __forceinline__ void multiply_async(
      m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kN / 8], const m16n8k16::FragmentA& a,
      std::uint64_t b, bool accumulate) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    GpuWgmmaProduct<Element, kN>::template multiply<kMajorB == Major::kRow>(c, a, b,
                                                                            accumulate ? 1 : 0);
#else
    __trap();
#endif
  }
};

}  // namespace sparkbench
