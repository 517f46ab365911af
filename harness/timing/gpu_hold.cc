#include "harness/timing/gpu_hold.h"

#include <new>

namespace sparkbench {

GpuHoldFlag::GpuHoldFlag() : done_(sizeof(std::uint32_t)) {
  CUDA_CHECK(cudaMemset(done_.as<void>(), 0, done_.bytes()));
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for it
  void* memory = nullptr;
  CUDA_CHECK(cudaHostAlloc(&memory, sizeof(HoldFlag), cudaHostAllocMapped));
  flag_.reset(new (memory) HoldFlag);
}

HoldFlag* GpuHoldFlag::on_gpu() const {
  void* address = nullptr;
  CUDA_CHECK(cudaHostGetDevicePointer(&address, flag_.get(), 0));
  return static_cast<HoldFlag*>(address);
}

void GpuHoldFlag::release(std::uint32_t ticket) {
  std::atomic_ref(flag_->released).store(ticket, std::memory_order_release);
}

bool GpuHoldFlag::has_expired(std::uint32_t ticket) const {
  return std::atomic_ref(flag_->expired).load(std::memory_order_acquire) >= ticket;
}

GpuHold::GpuHold(const CudaStream& stream, GpuHoldFlag& flag, const HoldLimits& limits)
    : flag_(flag), ticket_(flag.next_ticket()) {
  enqueue_hold(stream.get(), flag.on_gpu(), flag.done_on_gpu(), ticket_,
               static_cast<std::uint64_t>(limits.gpu.count()));
  watchdog_.emplace(limits.host, [this] {
    was_ended_by_host_ = true;
    flag_.release(ticket_);
  });
}

void GpuHold::release() {
  watchdog_.reset();
  flag_.release(ticket_);
}

bool GpuHold::was_kept() const { return !was_ended_by_host_ && !flag_.has_expired(ticket_); }

}  // namespace sparkbench
