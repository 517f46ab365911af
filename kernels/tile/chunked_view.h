// A strided tensor as kernels take it: in chunks of 16 bytes, so that a 32-bit offset reaches any
// chunk and a lane's address is one multiply-add away from one register.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/base/host_device.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// Elements of a chunk.
inline constexpr int kChunkHalves = 8;

/// Row (b, s, h) of [batch, seqlen, heads, head_dim] begins b * batch + s * row + h * head chunks
/// from the first: below 2^32, since chunked_view() refuses others.
template <class T>
struct ChunkedView {
  T* first;
  std::uint32_t batch, row, head;

  /// The chunk at which row (b, s, h) begins.
  SPARK_HD std::uint32_t chunk(int b, int s, int h) const {
    return static_cast<std::uint32_t>(b) * batch + static_cast<std::uint32_t>(s) * row +
           static_cast<std::uint32_t>(h) * head;
  }
  SPARK_HD T* at_chunk(std::uint32_t chunk) const {
    return first + static_cast<std::size_t>(chunk) * kChunkHalves;
  }
  SPARK_HD T* at(int b, int s, int h) const { return at_chunk(chunk(b, s, h)); }
  /// The distance from a row to the next, in elements.
  SPARK_HD int row_stride() const { return static_cast<int>(row) * kChunkHalves; }
};

/// Throws std::invalid_argument, naming the tensor, unless its rows are aligned to 16 bytes, no
/// stride of an extent above 1 is negative, and it spans less than 2^32 chunks (64 GiB).
template <class T>
ChunkedView<T> chunked_view(const char* name, const TensorView<T>& view, int batch, int seqlen,
                            int heads, int head_dim) {
  const auto refuse = [name](const char* why) {
    throw std::invalid_argument(std::string("tensor ") + name + " " + why);
  };
  if (reinterpret_cast<std::uintptr_t>(view.data) % 16 != 0) refuse("is not aligned to 16 bytes");
  const auto chunks = [&](std::int64_t stride, int extent) -> std::uint32_t {
    if (extent == 1) return 0;
    if (stride < 0) refuse("has a negative stride");
    if (stride % kChunkHalves != 0) refuse("has a stride that is no multiple of 16 bytes");
    return static_cast<std::uint32_t>(stride / kChunkHalves);
  };
  const ChunkedView<T> chunked{view.data, chunks(view.batch_stride, batch),
                               chunks(view.seqlen_stride, seqlen), chunks(view.head_stride, heads)};
  const auto of = [](std::int64_t stride, int extent) {
    return extent == 1 ? 0.0 : static_cast<double>(stride) * (extent - 1);
  };
  const double halves = of(view.batch_stride, batch) + of(view.seqlen_stride, seqlen) +
                        of(view.head_stride, heads) + head_dim;
  if (halves / kChunkHalves >= 4294967296.0) refuse("spans 64 GiB or more");
  if (seqlen > 1 && view.seqlen_stride > 2147483647) refuse("has rows 4 GiB or more apart");
  return chunked;
}

}  // namespace sparkbench
