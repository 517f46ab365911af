// Shared by the kernels' GPU tests: device tensors with guard zones, and the arithmetic
// that m8n8k4 has on the GPU at hand.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "kernels/machine/mma_instruction.h"

namespace sparkbench {

/// Guard bytes after each output: a kernel that writes past its end changes them.
inline constexpr std::size_t kGuardBytes = 4096;
inline constexpr int kPoison = 0x7f;

/// A buffer of poison with a guard zone, or a copy of host data.
template <class T>
DeviceBuffer upload(const std::vector<T>& host) {
  DeviceBuffer buffer(host.size() * sizeof(T));
  CUDA_CHECK(cudaMemcpy(buffer.as<void>(), host.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

inline DeviceBuffer poisoned(std::size_t bytes) {
  DeviceBuffer buffer(bytes + kGuardBytes);
  CUDA_CHECK(cudaMemset(buffer.as<void>(), kPoison, buffer.bytes()));
  return buffer;
}

template <class T>
std::vector<T> download(const DeviceBuffer& buffer, std::size_t count) {
  std::vector<unsigned char> bytes(buffer.bytes());
  CUDA_CHECK(cudaMemcpy(bytes.data(), buffer.as<void>(), bytes.size(), cudaMemcpyDeviceToHost));
  for (std::size_t i = count * sizeof(T); i < bytes.size(); ++i) {
    EXPECT_EQ(bytes[i], kPoison) << "the guard zone was written";
    if (bytes[i] != kPoison) break;
  }
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes.data(), count * sizeof(T));
  return values;
}

inline std::size_t count_different(const std::vector<Half>& a, const std::vector<Half>& b) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different += a[i].bits != b[i].bits;
  return different;
}

/// The profile of an instruction on the current GPU, which has it.
inline const ArithmeticProfile& native_profile(
    MmaInstruction instruction = MmaInstruction::kM8n8k4) {
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  const ArithmeticProfile* const profile =
      instruction_profile(instruction, 10 * properties.major + properties.minor);
  if (profile == nullptr) throw std::logic_error("this GPU lacks the test's instruction");
  return *profile;
}

/// Whether it runs on the current GPU as its own tensor cores have it.
inline bool has_native(MmaInstruction instruction) {
  cudaDeviceProp properties;
  return cudaGetDeviceProperties(&properties, 0) == cudaSuccess &&
         is_native(instruction, 10 * properties.major + properties.minor);
}

inline bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

}  // namespace sparkbench
