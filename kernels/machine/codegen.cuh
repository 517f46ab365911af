// GpuCodegen: the hints to nvcc (codegen.h), as empty or nearly empty asm statements that the
// compiler cannot see through. It keeps the thread's index, because hints change where that is
// computed.
#pragma once

#include "kernels/machine/codegen.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

class GpuCodegen {
 public:
  __device__ __forceinline__ void recompute_indices() { asm volatile("" : "+r"(thread_)); }
  __device__ __forceinline__ void recompute_indices(int multiple_of_32) {
    asm volatile("and.b32 %0, %1, 31;" : "=r"(zero_) : "r"(multiple_of_32));
    thread_ |= zero_;
  }
  template <class T>
  __device__ __forceinline__ T opaque(T value) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "one register, or a pair");
    if constexpr (sizeof(T) == 8) {
      asm volatile("" : "+l"(value));
    } else {
      asm volatile("" : "+r"(value));
    }
    return value;
  }
  __device__ __forceinline__ Bits128 load_opaque_global(const void* address) const {
    Bits128 bits;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(bits.word[0]), "=r"(bits.word[1]), "=r"(bits.word[2]), "=r"(bits.word[3])
                 : "l"(address));
    return bits;
  }
  __device__ __forceinline__ int uniform(int value) const {
    return __shfl_sync(0xffffffffu, value, 0);
  }
  template <int kRegisters>
  __device__ __forceinline__ void give_registers() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
  }
  template <int kRegisters>
  __device__ __forceinline__ void take_registers() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
  }

 protected:
  int thread_ = static_cast<int>(threadIdx.x);
  int zero_ = 0;  // what recompute_indices() makes of its argument
};

}  // namespace sparkbench
