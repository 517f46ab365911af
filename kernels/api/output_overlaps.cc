#include "kernels/api/output_overlaps.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sparkbench {
namespace {

using Dimension = std::pair<std::int64_t, std::int64_t>;  // pitch, extent

bool is_empty(const RowsInMemory& rows) {
  return rows.row_bytes == 0 ||
         std::find(rows.extent.begin(), rows.extent.end(), 0) != rows.extent.end();
}

/// The dimensions that move, the shortest pitch first.
std::vector<Dimension> dimensions_of(const RowsInMemory& rows) {
  std::vector<Dimension> dimensions;
  for (std::size_t i = 0; i < 3; ++i) {
    if (rows.extent[i] > 1) dimensions.emplace_back(rows.pitch[i], rows.extent[i]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  return dimensions;
}

bool overlaps_itself(const RowsInMemory& rows) {
  std::int64_t bytes = rows.row_bytes;
  for (const auto& [pitch, extent] : dimensions_of(rows)) {
    if (pitch < bytes) return true;
    bytes = (extent - 1) * pitch + bytes;
  }
  return false;
}

/// Whether an address is in a row. The rows do not overlap, or pitches are 0.
bool holds(const RowsInMemory& rows, const void* data) {
  std::int64_t offset =
      static_cast<const std::byte*>(data) - static_cast<const std::byte*>(rows.data);
  if (offset < 0) return false;
  const std::vector<Dimension> dimensions = dimensions_of(rows);
  for (auto it = dimensions.rbegin(); it != dimensions.rend(); ++it) {
    const auto& [pitch, extent] = *it;
    if (pitch > 0) offset -= std::min(offset / pitch, extent - 1) * pitch;
  }
  return offset < rows.row_bytes;
}

}  // namespace

void check_outputs(std::span<const RowsInMemory> tensors, std::size_t outputs) {
  for (std::size_t i = 0; i < outputs; ++i) {
    const RowsInMemory& output = tensors[i];
    if (is_empty(output)) continue;
    if (overlaps_itself(output)) {
      throw std::invalid_argument(std::string("rows of output ") + output.name +
                                  " overlap, by its strides; allowed: each in memory of its own");
    }
    for (std::size_t j = 0; j < tensors.size(); ++j) {
      const RowsInMemory& other = tensors[j];
      if (j == i || is_empty(other)) continue;
      if (holds(output, other.data) || holds(other, output.data)) {
        throw std::invalid_argument(std::string("output ") + output.name + " overlaps tensor " +
                                    other.name + "; allowed: memory of its own");
      }
    }
  }
}

}  // namespace sparkbench
