#include "reference/tensors/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "reference/tensors/safetensors_json.h"

namespace sparkbench {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kAlignment = 8;  // of the data, as in the format's own implementation
constexpr std::size_t kMaxQuoted = 64;

/// Names and sizes as in the format's own implementation.
constexpr struct {
  std::string_view name;
  std::uint64_t bits;
} kDtypes[] = {{"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
               {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
               {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
               {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};

template <class... Values>
[[noreturn]] void reject(fmt::format_string<Values...> format, Values&&... values) {
  throw std::invalid_argument(fmt::format(format, std::forward<Values>(values)...));
}

std::uint64_t element_bits(const std::string& name, const std::string& dtype) {
  for (const auto& known : kDtypes) {
    if (known.name == dtype) return known.bits;
  }
  reject("tensor {}: unknown dtype {}", quoted_for_message(name), quoted_for_message(dtype));
}

/// Number of bytes of the tensor's shape and dtype.
std::uint64_t bytes_of(const std::string& name, const StoredTensor& tensor) {
  std::uint64_t bits = element_bits(name, tensor.dtype);
  for (const std::uint64_t extent : tensor.shape) {
    if (__builtin_mul_overflow(bits, extent, &bits)) {
      reject("tensor {}: shape [{}] is more than any file holds", quoted_for_message(name),
             fmt::join(tensor.shape, ", "));
    }
  }
  if (bits % 8 != 0) reject("tensor {}: ends inside a byte", quoted_for_message(name));
  return bits / 8;
}

void check_size(const std::string& name, const StoredTensor& tensor) {
  if (tensor.begin > tensor.end) {
    reject("tensor {}: data_offsets [{}, {}] run backwards", quoted_for_message(name), tensor.begin,
           tensor.end);
  }
  const std::uint64_t said = tensor.end - tensor.begin, needed = bytes_of(name, tensor);
  if (said == needed) return;
  reject("tensor {}: data_offsets span {} bytes, shape [{}] of {} makes {}",
         quoted_for_message(name), said, fmt::join(tensor.shape, ", "), tensor.dtype, needed);
}

/// The tensors, one after the other, must fill the data exactly.
void check_layout(const StoredTensors& tensors, std::uint64_t data_bytes) {
  std::vector<const StoredTensors::value_type*> in_order;
  for (const auto& entry : tensors) in_order.push_back(&entry);
  std::sort(in_order.begin(), in_order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t filled = 0;
  for (const auto* entry : in_order) {
    const auto& [name, tensor] = *entry;
    const std::string quoted = quoted_for_message(name);
    if (tensor.end > data_bytes) {
      reject("tensor {}: ends at byte {} of {} bytes of data; the file is truncated or lies",
             quoted, tensor.end, data_bytes);
    }
    if (tensor.begin < filled) reject("tensor {}: overlaps with another tensor", quoted);
    if (tensor.begin > filled) {
      reject("tensor {}: {} bytes before it belong to no tensor", quoted, tensor.begin - filled);
    }
    filled = tensor.end;
  }
  if (filled < data_bytes) reject("{} bytes at the end belong to no tensor", data_bytes - filled);
}

std::uint64_t read_length(std::istream& file, std::uint64_t file_bytes) {
  std::uint64_t length = 0;
  if (file_bytes < kLengthBytes || !file.read(reinterpret_cast<char*>(&length), sizeof length)) {
    reject("{} bytes are too few: a safetensors file begins with 8 bytes of header length",
           file_bytes);
  }
  if (length > kMaxSafetensorsHeaderBytes) {
    reject("a header of {} bytes is announced, {} are allowed; is it a safetensors file?", length,
           kMaxSafetensorsHeaderBytes);
  }
  if (length > file_bytes - kLengthBytes) {
    reject("a header of {} bytes is announced, {} follow; the file is truncated or lies", length,
           file_bytes - kLengthBytes);
  }
  return length;
}

template <class T>
void append_number(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

StoredTensors read_safetensors_header(std::istream& file, std::uint64_t file_bytes) {
  std::string header(read_length(file, file_bytes), '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size()))) {
    reject("the header cannot be read");
  }
  const std::uint64_t data_begin = kLengthBytes + header.size();
  StoredTensors tensors = parse_safetensors_json(header);
  for (const auto& [name, tensor] : tensors) check_size(name, tensor);
  check_layout(tensors, file_bytes - data_begin);
  for (auto& [name, tensor] : tensors) {
    tensor.begin += data_begin;
    tensor.end += data_begin;
  }
  return tensors;
}

std::string safetensors_file(const std::vector<TensorToStore>& tensors,
                             const std::map<std::string, std::string>& metadata) {
  using Json = nlohmann::ordered_json;
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const TensorToStore& tensor : tensors) {
    const std::string name(tensor.name);
    if (header.contains(name)) reject("tensor {}: there are two", quoted_for_message(name));
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  std::string file;
  file.reserve(kLengthBytes + text.size() + offset);
  append_number(file, static_cast<std::uint64_t>(text.size()));
  file += text;
  std::istringstream written(file);
  read_safetensors_header(written, file.size() + offset);
  for (const TensorToStore& tensor : tensors) file += tensor.bytes;
  return file;
}

std::string quoted_for_message(std::string_view text) {
  std::string quoted = "'";
  for (const char character : text.substr(0, kMaxQuoted)) {
    quoted += character >= ' ' && character <= '~' ? character : '?';
  }
  return quoted + (text.size() > kMaxQuoted ? "...'" : "'");
}

}  // namespace sparkbench
