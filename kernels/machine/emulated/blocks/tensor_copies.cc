#include "kernels/machine/emulated/blocks/tensor_copies.h"

#include <cstring>

namespace sparkbench {
namespace {

constexpr int kChunkBytes = 16, kSectorBytes = 32, kRowBytes = 2 * kBoxColumns;
constexpr int kColumnsOfChunk = kChunkBytes / 2;

TensorMapShape decoded(const TensorMap& map) {
  TensorMapShape shape;
  std::memcpy(&shape, &map, sizeof shape);
  return shape;
}

/// Where 16 bytes come from: null outside the tensor.
const void* source_of(const TensorMapShape& shape, const BoxPlace& place, int row, int chunk) {
  const auto is_inside = [](int n, std::uint32_t extent) {
    return n >= 0 && static_cast<std::uint32_t>(n) < extent;
  };
  const int of_row = place.row + row, column = place.column + kColumnsOfChunk * chunk;
  if (!is_inside(of_row, shape.rows) || !is_inside(column, shape.columns) ||
      !is_inside(place.head, shape.heads) || !is_inside(place.batch, shape.batch)) {
    return nullptr;
  }
  const auto offset = [](int n, std::uint64_t stride) {
    return static_cast<std::uint64_t>(n) * stride;
  };
  return reinterpret_cast<const std::byte*>(shape.first + column) +
         offset(of_row, shape.row_stride) + offset(place.head, shape.head_stride) +
         offset(place.batch, shape.batch_stride);
}

/// Calls visit(address in shared memory, source) for each 16 bytes. The swizzle acts on addresses:
/// their bits 4 to 6 XOR bits 7 to 9.
template <class Visit>
void for_chunks(const TensorCopy& copy, std::uint32_t first, Visit visit) {
  if (copy.map == nullptr) {
    for (int at = 0; at < copy.bytes; at += kChunkBytes) {
      visit(first + static_cast<std::uint32_t>(at),
            static_cast<const std::byte*>(copy.global) + at);
    }
    return;
  }
  const TensorMapShape shape = decoded(*copy.map);
  for (int row = 0; row < kBoxRows; ++row) {
    for (int chunk = 0; chunk < kRowBytes / kChunkBytes; ++chunk) {
      const std::uint32_t at = first + static_cast<std::uint32_t>(kRowBytes * row + 16 * chunk);
      visit(at ^ ((at >> 7 & 7u) << 4), source_of(shape, copy.place, row, chunk));
    }
  }
}

}  // namespace

TensorMap encode_emulated_map(const TensorMapShape& shape) {
  static_assert(sizeof shape <= sizeof(TensorMap));
  TensorMap map{};
  std::memcpy(&map, &shape, sizeof shape);
  return map;
}

void TensorCopies::start(TensorCopy copy, Counters& counters) {
  constexpr std::uint32_t kSwizzleBytes = 1024;
  if (copy.map != nullptr) {
    memory_->expect_aligned(
        {AccessKind::kCopyToShared, kSwizzleBytes, copy.shared, copy.thread, copy.site});
  }
  std::uint32_t read = 0;
  for_chunks(copy, memory_->shared_address(copy.shared), [&](std::uint32_t at, const void* from) {
    memory_->start_chunk(
        {AccessKind::kCopyToShared, kChunkBytes, memory_->bytes() + at, copy.thread, copy.site});
    if (from != nullptr) read += kChunkBytes;
  });
  memory_->count_copy(counters, copy.site, (read + kSectorBytes - 1) / kSectorBytes,
                      static_cast<std::uint32_t>(copy.bytes));
  copy.start_time = memory_->start_time(copy.thread / kWarpLanes);
  copies_.push_back(copy);
}

TensorCopy TensorCopies::end(bool is_last) {
  const auto it = is_last ? copies_.end() - 1 : copies_.begin();
  const TensorCopy copy = *it;
  copies_.erase(it);
  for_chunks(copy, memory_->shared_address(copy.shared), [&](std::uint32_t at, const void* from) {
    const MemoryAccess to{AccessKind::kCopyToShared, kChunkBytes, memory_->bytes() + at,
                          copy.thread, copy.site};
    if (!memory_->is_inside(to)) return;
    memory_->end_chunk(to, {AccessKind::kLoadGlobal, kChunkBytes, from, copy.thread, copy.site},
                       from != nullptr, copy.start_time);
  });
  return copy;
}

}  // namespace sparkbench
