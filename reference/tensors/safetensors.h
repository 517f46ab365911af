// The safetensors format (https://github.com/huggingface/safetensors, "Format"):
//   8 bytes     N, the header's length, little-endian
//   N bytes     JSON: {"q": {"dtype": "F16", "shape": [2, 64, 4, 128], "data_offsets": [0,
//   131072]},
//               ..., "__metadata__": {"any": "text"}}, "__metadata__" optional, spaces at the end
//   the rest    the tensors' elements, little-endian, row-major, in any order but without a hole
// Offsets count from the end of the header.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// A file's description of one tensor.
struct StoredTensor {
  std::string dtype;                 // "F16", "BF16", "F32", ...
  std::vector<std::uint64_t> shape;  // empty: a scalar
  std::uint64_t begin, end;          // its bytes, counted from the beginning of the file

  bool operator==(const StoredTensor&) const = default;
};

/// By name.
using StoredTensors = std::map<std::string, StoredTensor>;

/// The longest allowed header, as in the format's own implementation.
inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

/// Reads the header of a file of `file_bytes`, from its beginning, and trusts nothing. Every
/// returned tensor has a dtype of the format, is inside the file, has as many bytes as its shape
/// and dtype say, and overlaps no other; together the tensors fill the file. Metadata are checked
/// and left out. Throws std::invalid_argument with the reason, in one printable line, for any other
/// file: truncated, too long, or with a duplicate name.
StoredTensors read_safetensors_header(std::istream& file, std::uint64_t file_bytes);

/// A tensor to write. `bytes` are its elements in file format.
struct TensorToStore {
  std::string_view name;
  std::string_view dtype;
  std::vector<std::uint64_t> shape;
  std::string_view bytes;
};

/// A whole file that read_safetensors_header() accepts, with the data aligned to 8 bytes. Throws
/// std::invalid_argument if it would not. Metadata that are not UTF-8 are repaired.
std::string safetensors_file(const std::vector<TensorToStore>& tensors,
                             const std::map<std::string, std::string>& metadata);

/// `text` in quotes, for messages: shortened if long, with '?' for everything but printable ASCII.
std::string quoted_for_message(std::string_view text);

}  // namespace sparkbench
