// The tensor memory accelerator and mbarriers on a GPU (machine.h). They trap except on sm_90. One
// lane of the warp acts for it, by a predicate: wgmma would see a branch as divergence.
#pragma once

#include <cstdint>

#include "kernels/machine/tensor_copy/tensor_map.h"

namespace sparkbench {

class GpuTensorCopy {
 public:
  __device__ __forceinline__ void init_mbarrier(Mbarrier* barrier, int warps) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, %0, 0; @p mbarrier.init.shared::cta.b64 [%1], %2; "
        "@p fence.mbarrier_init.release.cluster;}" ::"r"(elected_lane()),
        "r"(shared_address(barrier)), "r"(warps)
        : "memory");
#else
    __trap();
#endif
  }
  __device__ __forceinline__ void arrive_at_mbarrier(Mbarrier* barrier) const {
#if __CUDA_ARCH__ >= 900
    __syncwarp();
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, %0, 0; @p mbarrier.arrive.shared::cta.b64 _, [%1];}" ::"r"(
            elected_lane()),
        "r"(shared_address(barrier))
        : "memory");
#else
    __trap();
#endif
  }
  __device__ __forceinline__ void expect_bytes(Mbarrier* barrier, int bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, %0, 0; "
        "@p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%1], %2;}" ::"r"(elected_lane()),
        "r"(shared_address(barrier)), "r"(bytes)
        : "memory");
#else
    __trap();
#endif
  }
  __device__ __forceinline__ void wait_at_mbarrier(Mbarrier* barrier, int parity) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
        "@!p bra WAIT;}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
#else
    __trap();
#endif
  }

  __device__ __forceinline__ void copy_box_async(void* shared, const TensorMap& map,
                                                 const BoxPlace& place, Mbarrier* barrier) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, %0, 0; "
        "@p cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%1], [%2, {%3, %4, %5, %6}], [%7];}" ::"r"(elected_lane()),
        "r"(shared_address(shared)), "l"(&map), "r"(place.column), "r"(place.row), "r"(place.head),
        "r"(place.batch), "r"(shared_address(barrier))
        : "memory");
#else
    __trap();
#endif
  }
  __device__ __forceinline__ void copy_bytes_async(void* shared, const void* global, int bytes,
                                                   Mbarrier* barrier) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, %0, 0; "
        "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%1], [%2], %3, [%4];}" ::"r"(elected_lane()),
        "r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)), "r"(bytes),
        "r"(shared_address(barrier))
        : "memory");
#else
    __trap();
#endif
  }

 protected:
  __device__ __forceinline__ static std::uint32_t shared_address(const void* shared) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  }

 private:
  /// 0 for the lane that acts.
  __device__ __forceinline__ static unsigned elected_lane() { return threadIdx.x & 31u; }
};

}  // namespace sparkbench
