// A libFuzzer target (CMake option SPARKBENCH_FUZZ). For any file content, the header is either
// refused with a reason or describes the file correctly.
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "reference/tensors/safetensors.h"

namespace sparkbench {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Touches every byte that the header describes, checks that each belongs to one tensor, and writes
/// the tensors again.
void check_accepted(const std::string& file, const StoredTensors& tensors) {
  std::vector<TensorToStore> to_store;
  std::size_t bytes_of_tensors = 0;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.begin <= tensor.end && tensor.end <= file.size());
    const auto size = static_cast<std::size_t>(tensor.end - tensor.begin);
    to_store.push_back(
        {name, tensor.dtype, tensor.shape,
         std::string_view(file).substr(static_cast<std::size_t>(tensor.begin), size)});
    bytes_of_tensors += size;
  }
  require(8 + bytes_of_tensors <= file.size());
  const std::string copy = safetensors_file(to_store, {});
  std::istringstream written(copy);
  const StoredTensors read_back = read_safetensors_header(written, copy.size());
  require(read_back.size() == tensors.size());
  for (const auto& [name, tensor] : read_back) {
    const StoredTensor& original = tensors.at(name);
    require(tensor.dtype == original.dtype && tensor.shape == original.shape);
    require(copy.compare(tensor.begin, tensor.end - tensor.begin, file, original.begin,
                         original.end - original.begin) == 0);
  }
}

/// One printable line.
void check_reason(const std::string& reason) {
  require(!reason.empty() && reason.size() < 4096);
  for (const char character : reason) require(character >= ' ' && character <= '~');
}

}  // namespace
}  // namespace sparkbench

// libFuzzer defines the names.
//
// NOLINTBEGIN(readability-identifier-naming)
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Sets the length field of most inputs to the length of their JSON. Random bytes seldom get it
/// right, and would seldom be read any further.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const std::size_t last_brace = file.rfind('}');
  if (seed % 4 != 0 && last_brace != std::string_view::npos && last_brace >= 8) {
    const std::uint64_t length = last_brace + 1 - 8;
    std::memcpy(data, &length, sizeof length);
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  std::istringstream stream(file);
  sparkbench::StoredTensors tensors;
  try {
    tensors = sparkbench::read_safetensors_header(stream, size);
  } catch (const std::invalid_argument& error) {
    sparkbench::check_reason(error.what());
    return 0;
  }
  sparkbench::check_accepted(file, tensors);
  return 0;
}
// NOLINTEND(readability-identifier-naming)
