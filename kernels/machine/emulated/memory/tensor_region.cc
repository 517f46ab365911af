#include "kernels/machine/emulated/memory/tensor_region.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace sparkbench {
namespace {

using Dimension = std::pair<std::int64_t, int>;  // pitch, extent

std::uintptr_t begin_of(const TensorRegion& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.base);
}

std::uintptr_t end_of(const TensorRegion& tensor) {
  std::uintptr_t end = begin_of(tensor) + tensor.row_bytes;
  for (std::size_t i = 0; i < 3; ++i) {
    end += static_cast<std::uintptr_t>((tensor.extent[i] - 1) * tensor.pitch_bytes[i]);
  }
  return end;
}

void validate(const TensorRegion& tensor) {
  const auto fails = [](std::uintptr_t bytes) { return bytes % kGlobalWordBytes != 0; };
  bool is_valid = tensor.row_bytes > 0 && !fails(tensor.row_bytes) && !fails(begin_of(tensor));
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_walked = tensor.extent[i] != 1;
    is_valid = is_valid && tensor.extent[i] >= 1 &&
               (!is_walked || (tensor.pitch_bytes[i] >= 0 &&
                               !fails(static_cast<std::uintptr_t>(tensor.pitch_bytes[i]))));
  }
  if (!is_valid) {
    throw std::invalid_argument(fmt::format(
        "tensor {} is not of whole rows at multiples of 4 bytes, with pitches of at least 0 where "
        "there are several rows",
        tensor.name));
  }
}

/// Whether rows follow each other without a gap, in whatever order of dimensions.
bool is_dense(const TensorRegion& tensor) {
  std::array<Dimension, 3> dimensions;
  for (std::size_t i = 0; i < 3; ++i) dimensions[i] = {tensor.pitch_bytes[i], tensor.extent[i]};
  std::sort(dimensions.begin(), dimensions.end());
  auto bytes = static_cast<std::int64_t>(tensor.row_bytes);
  for (const auto& [pitch, extent] : dimensions) {
    if (extent == 1) continue;
    if (pitch > bytes) return false;
    bytes += (extent - 1) * pitch;
  }
  return true;
}

/// Makes the words of the tensor's rows exist in a region that begins at `begin`.
void mark_rows(const TensorRegion& tensor, std::uintptr_t begin, std::vector<bool>& exists) {
  const auto [batch, rows, heads] = tensor.extent;
  const auto& pitch = tensor.pitch_bytes;
  for (int i = 0; i < batch * rows * heads; ++i) {
    const std::int64_t offset = i / (rows * heads) * pitch[0] + i / heads % rows * pitch[1] +
                                i % heads * pitch[2] +
                                static_cast<std::int64_t>(begin_of(tensor) - begin);
    const auto first = exists.begin() + offset / static_cast<std::int64_t>(kGlobalWordBytes);
    std::fill_n(first, tensor.row_bytes / kGlobalWordBytes, true);
  }
}

/// One region for tensors that overlap. tensors.front() begins first.
GlobalRegion merge(std::span<const TensorRegion> tensors) {
  const TensorRegion& first = tensors.front();
  GlobalRegion region{first.name, first.base, 0, first.written_before, first.writable};
  std::uintptr_t end = 0;
  for (const TensorRegion& tensor : tensors) {
    if (&tensor != &first) region.name += "," + tensor.name;
    end = std::max(end, end_of(tensor));
  }
  region.bytes = end - begin_of(first);
  if (tensors.size() == 1 && is_dense(first)) return region;
  region.exists.resize(region.bytes / kGlobalWordBytes);
  for (const TensorRegion& tensor : tensors) mark_rows(tensor, begin_of(first), region.exists);
  const bool is_whole =
      std::find(region.exists.begin(), region.exists.end(), false) == region.exists.end();
  if (is_whole) region.exists.clear();
  return region;
}

}  // namespace

std::vector<GlobalRegion> regions_of(std::span<const TensorRegion> tensors) {
  for (const TensorRegion& tensor : tensors) validate(tensor);
  std::vector<TensorRegion> sorted(tensors.begin(), tensors.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const TensorRegion& a, const TensorRegion& b) {
    return begin_of(a) < begin_of(b);
  });
  std::vector<GlobalRegion> regions;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t next = first;
    std::uintptr_t end = 0;
    do {
      end = std::max(end, end_of(sorted[next]));
      ++next;
    } while (next < sorted.size() && begin_of(sorted[next]) < end &&
             sorted[next].written_before == sorted[first].written_before &&
             sorted[next].writable == sorted[first].writable);
    regions.push_back(merge(std::span(sorted).subspan(first, next - first)));
    first = next;
  }
  return regions;
}

}  // namespace sparkbench
