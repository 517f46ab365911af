// Tensors in layouts that are not contiguous, for tests. Memory between their rows is NaN, which
// reveals reads, and is compared afterwards, which reveals writes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

enum class TestLayout {
  kContiguous,
  kPacked,      // the keys of [batch, seqlen, 3, heads, head_dim]
  kTransposed,  // [batch, heads, seqlen, head_dim]
  kPadded       // rows, tokens and batch elements with gaps between them
};
inline constexpr TestLayout kTestLayouts[] = {TestLayout::kContiguous, TestLayout::kPacked,
                                              TestLayout::kTransposed, TestLayout::kPadded};

inline std::string name_of(TestLayout layout) {
  constexpr const char* kNames[] = {"contiguous", "packed", "transposed", "padded"};
  return kNames[static_cast<int>(layout)];
}

inline RowStrides strides_in(TestLayout layout, const TensorShape& shape) {
  constexpr std::int64_t kPadding = 8;  // keeps rows aligned to 16 bytes
  const std::int64_t head_dim = shape.head_dim;
  const std::int64_t token = shape.heads * head_dim;
  const std::int64_t padded_token = shape.heads * (head_dim + kPadding) + kPadding;
  switch (layout) {
    case TestLayout::kContiguous:
      break;
    case TestLayout::kPacked:
      return {3 * shape.seqlen * token, 3 * token, head_dim};
    case TestLayout::kTransposed:
      return {shape.seqlen * token, head_dim, shape.seqlen * head_dim};
    case TestLayout::kPadded:
      return {(shape.seqlen + 1) * padded_token, padded_token, head_dim + kPadding};
  }
  return contiguous_strides(shape);
}

/// A tensor between guard zones.
struct LaidOutTensor {
  static constexpr Half kGap{0x7e5a};  // a NaN that no computation produces
  static constexpr std::size_t kGuard = 256;

  TensorShape shape;
  RowStrides strides;
  std::size_t first = kGuard;     // index of the first element
  std::vector<Half> memory = {};  // the whole allocation

  /// Gaps only: memory for a result.
  LaidOutTensor(const TensorShape& of_shape, TestLayout layout)
      : shape(of_shape), strides(strides_in(layout, shape)) {
    if (layout == TestLayout::kPacked) {
      first += static_cast<std::size_t>(shape.heads) * static_cast<std::size_t>(shape.head_dim);
    }
    const std::size_t bytes =
        extent_bytes(view(), shape.batch, shape.seqlen, shape.heads, shape.head_dim);
    memory.assign(first + bytes / sizeof(Half) + kGuard, kGap);
  }
  LaidOutTensor(const std::vector<Half>& contiguous, const TensorShape& of_shape, TestLayout layout)
      : LaidOutTensor(of_shape, layout) {
    for (const KeyRow& r : all_rows_of<KeyRow>(shape)) {
      std::ranges::copy(row_of(contiguous, shape, r), view().row(r.batch, r.row, r.head));
    }
  }

  TensorView<Half> view() {
    return {memory.data() + first, strides.batch, strides.seqlen, strides.head};
  }
  HostTensor tensor() const { return {std::span(memory).subspan(first), strides}; }

  /// Whether all memory outside the rows is unchanged.
  bool has_untouched_gaps() const {
    std::vector<bool> is_row(memory.size());
    for (const KeyRow& r : all_rows_of<KeyRow>(shape)) {
      const auto begin = row_of(tensor(), shape, r).data() - memory.data();
      std::fill_n(is_row.begin() + begin, shape.head_dim, true);
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (!is_row[i] && memory[i].bits != kGap.bits) return false;
    }
    return true;
  }
};

}  // namespace sparkbench
