// For tests: files of tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/base/half.h"
#include "reference/tensors/safetensors.h"
#include "results/store/output_file.h"

namespace sparkbench {

/// A tensor that owns its elements.
struct TestTensor {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline TestTensor f16_tensor(const std::string& name, const std::vector<std::uint64_t>& shape,
                             const std::vector<Half>& values) {
  return {name, "F16", shape, bytes_of(values)};
}

inline TestTensor f32_tensor(const std::string& name, const std::vector<std::uint64_t>& shape,
                             const std::vector<float>& values) {
  return {name, "F32", shape, bytes_of(values)};
}

/// For values that BF16 represents exactly.
inline TestTensor bf16_tensor(const std::string& name, const std::vector<std::uint64_t>& shape,
                              const std::vector<float>& values) {
  std::vector<std::uint16_t> upper_halves;
  for (const float value : values) {
    upper_halves.push_back(static_cast<std::uint16_t>(float_bits(value) >> 16));
  }
  return {name, "BF16", shape, bytes_of(upper_halves)};
}

inline void write_tensors(const std::filesystem::path& path,
                          const std::vector<TestTensor>& tensors) {
  std::vector<TensorToStore> to_store;
  for (const TestTensor& tensor : tensors) {
    to_store.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.bytes});
  }
  write_file(path, safetensors_file(to_store, {}));
}

}  // namespace sparkbench
