// Device memory for candidates.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "kernels/machine/cuda_resources.h"

namespace sparkbench {

/// Aligned to 256 bytes, freed with the pointer. Throws OutOfDeviceMemory.
inline std::shared_ptr<void> allocate_for_candidate(std::size_t bytes) {
  const auto buffer = std::make_shared<DeviceBuffer>(bytes);
  return {buffer, buffer->as<void>()};
}

/// The same, initialized with these bytes.
inline std::shared_ptr<void> upload_for_candidate(std::span<const std::byte> bytes) {
  std::shared_ptr<void> memory = allocate_for_candidate(bytes.size());
  CUDA_CHECK(cudaMemcpy(memory.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for the copy
  return memory;
}

}  // namespace sparkbench
