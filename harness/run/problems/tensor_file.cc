#include "harness/run/problems/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "kernels/base/files/input_file.h"
#include "results/record/case_id.h"
#include "sweeps/list_flag.h"

namespace sparkbench {
namespace {

template <class... Values>
[[noreturn]] void reject_file(fmt::format_string<Values...> format, Values&&... values) {
  throw std::invalid_argument(fmt::format(format, std::forward<Values>(values)...));
}

std::ifstream open_file(const std::string& path) {
  require_regular_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) reject_file("cannot be read: {}", std::strerror(errno));
  return file;
}

template <class Bits>
std::vector<Bits> elements_of(std::string_view bytes) {
  std::vector<Bits> elements(bytes.size() / sizeof(Bits));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

/// The file's numbers, exactly.
std::vector<float> widen(const std::string& dtype, std::string_view bytes) {
  if (dtype == "F32") return elements_of<float>(bytes);
  const bool is_half = dtype == "F16";
  std::vector<float> values;
  values.reserve(bytes.size() / sizeof(Half));
  for (const std::uint16_t bits : elements_of<std::uint16_t>(bytes)) {
    values.push_back(is_half ? to_float(Half{bits})
                             : float_from_bits(static_cast<std::uint32_t>(bits) << 16));
  }
  return values;
}

bool is_taken_extent(std::uint64_t extent) { return extent >= 1 && extent <= kMaxExtent; }

bool is_finite(Half value) { return (value.bits & 0x7c00u) != 0x7c00u; }
bool is_zero(Half value) { return (value.bits & 0x7fffu) == 0; }

/// "[b, s, h, d]" of element `index`.
std::string position_text(const std::vector<std::uint64_t>& shape, std::uint64_t index) {
  std::vector<std::uint64_t> position(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) {
    position[axis] = index % shape[axis];
  }
  return fmt::format("[{}]", fmt::join(position, ", "));
}

/// "'a', 'b', ..."
std::string names_text(const StoredTensors& tensors) {
  constexpr std::size_t kMostNames = 8;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    names.push_back(names.size() == kMostNames ? "..." : quoted_for_message(name));
    if (names.size() > kMostNames) break;
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

TensorFile::TensorFile(const std::string& path) : file_(open_file(path)) {
  tensors_ = read_safetensors_header(file_, std::filesystem::file_size(path));
}

const StoredTensor& TensorFile::find(const std::string& name) const {
  if (const auto found = tensors_.find(name); found != tensors_.end()) return found->second;
  reject_file("has no tensor '{}'; it has {}", name, names_text(tensors_));
}

void TensorFile::require_dtype(const std::string& name) const {
  const std::string& dtype = find(name).dtype;
  if (dtype == "F16" || dtype == "BF16" || dtype == "F32") return;
  reject_file("tensor '{}' is {}; F16, BF16 and F32 are taken", name, dtype);
}

std::vector<std::uint64_t> TensorFile::extents_of(const std::string& name) const {
  require_dtype(name);
  const std::vector<std::uint64_t>& shape = find(name).shape;
  if (!std::all_of(shape.begin(), shape.end(), is_taken_extent)) {
    reject_file("tensor '{}' is [{}]; needs extents from 1 to {}", name, fmt::join(shape, ", "),
                kMaxExtent);
  }
  return shape;
}

TensorShape TensorFile::shape_of(const std::string& name) const {
  require_dtype(name);
  const std::vector<std::uint64_t>& shape = find(name).shape;
  if (shape.size() != 4 || !std::all_of(shape.begin(), shape.end(), is_taken_extent)) {
    reject_file("tensor '{}' is [{}]; needs [batch, seqlen, heads, head_dim], each from 1 to {}",
                name, fmt::join(shape, ", "), kMaxExtent);
  }
  return {static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]),
          static_cast<int>(shape[3])};
}

std::uint64_t TensorFile::stored_bytes(const std::string& name) const {
  const StoredTensor& tensor = find(name);
  return tensor.end - tensor.begin;
}

std::vector<Half> TensorFile::read(const std::string& name) {
  const StoredTensor& tensor = find(name);
  std::string bytes(tensor.end - tensor.begin, '\0');
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(tensor.begin));
  if (!file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    reject_file("tensor '{}' cannot be read", name);
  }
  return narrow(name, widen(tensor.dtype, bytes));
}

std::vector<Half> TensorFile::narrow(const std::string& name, const std::vector<float>& values) {
  std::vector<Half> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(), to_half);
  std::size_t refused = 0, first_refused = 0, vanished = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_finite(halves[i]) && refused++ == 0) first_refused = i;
    vanished += is_zero(halves[i]) && values[i] != 0.0f;
  }
  if (refused > 0) {
    reject_file(
        "tensor '{}': {} of {} values are not finite in fp16, whose largest number is 65504; "
        "the first is {} at {}",
        name, refused, values.size(), values[first_refused],
        position_text(find(name).shape, first_refused));
  }
  vanished_[name] = vanished;
  return halves;
}

std::string TensorFile::hash() {
  file_.clear();
  file_.seekg(0);
  return to_hex(fnv1a(file_));
}

}  // namespace sparkbench
