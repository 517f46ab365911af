// Device memory for candidates.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

inline constexpr int kPoisonByte = 0xff;  // a NaN in fp16, bf16 and fp32

/// Aligned to 256 bytes, freed with the pointer, and full of NaNs, so that a kernel that takes it
/// to be zero fails. Throws OutOfDeviceMemory.
inline std::shared_ptr<void> allocate_for_candidate(std::size_t bytes) {
  const auto buffer = std::make_shared<DeviceBuffer>(bytes);
  CUDA_CHECK(cudaMemset(buffer->as<void>(), kPoisonByte, bytes));
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for it
  return {buffer, buffer->as<void>()};
}

/// An output, with bytes before and after it that no kernel may write.
class GuardedBuffer {
 public:
  /// Throws OutOfDeviceMemory.
  explicit GuardedBuffer(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuardBytes) {
    write_guards();
  }

  void write_guards() const {
    for (std::byte* const guard : {begin(), begin() + kGuardBytes + bytes_}) {
      CUDA_CHECK(cudaMemset(guard, kGuardByte, kGuardBytes));
    }
    CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for it
  }

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(begin() + kGuardBytes);
  }
  std::size_t bytes() const { return bytes_; }
  /// Whether the bytes before and after it are unchanged. The device must be idle.
  bool is_intact() const {
    std::array<std::byte, 2 * kGuardBytes> guard;
    CUDA_CHECK(cudaMemcpy(guard.data(), begin(), kGuardBytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(guard.data() + kGuardBytes, begin() + kGuardBytes + bytes_, kGuardBytes,
                          cudaMemcpyDeviceToHost));
    return std::all_of(guard.begin(), guard.end(),
                       [](std::byte byte) { return byte == std::byte{kGuardByte}; });
  }

 private:
  static constexpr std::size_t kGuardBytes = 4096;
  static constexpr unsigned char kGuardByte = 0x5a;

  std::byte* begin() const { return memory_.as<std::byte>(); }

  std::size_t bytes_;
  DeviceBuffer memory_;
};

/// The same, initialized with these bytes.
inline std::shared_ptr<void> upload_for_candidate(std::span<const std::byte> bytes) {
  std::shared_ptr<void> memory = allocate_for_candidate(bytes.size());
  CUDA_CHECK(cudaMemcpy(memory.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for the copy
  return memory;
}

}  // namespace sparkbench
