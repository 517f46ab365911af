// One bit a pair, for masks that nothing shorter describes. A word holds 64 keys of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/mask/key_mask.h"

namespace sparkbench {

inline constexpr int kWordKeys = 64;

/// Bit i is whether first + i is in the range.
inline std::uint64_t key_bits_below(int count) {
  return count <= 0 ? 0 : count >= kWordKeys ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}
inline std::uint64_t key_bits(const Range& range, int first) {
  return key_bits_below(range.end - first) & ~key_bits_below(range.begin - first);
}

/// Bit k % 64 of word k / 64 of a row is whether it sees key k. Bits past the last key are 0.
struct BitRows {
  int rows = 0, keys = 0;
  std::size_t row_words = 0;
  std::vector<std::uint64_t> words;

  BitRows(int row_count, int key_count);

  std::span<const std::uint64_t> row(int index) const {
    return std::span(words).subspan(static_cast<std::size_t>(index) * row_words, row_words);
  }
  std::span<std::uint64_t> row(int index) {
    return std::span(words).subspan(static_cast<std::size_t>(index) * row_words, row_words);
  }
  bool sees(int row_index, int key) const {
    return (row(row_index)[static_cast<std::size_t>(key / kWordKeys)] >> (key % kWordKeys) & 1) !=
           0;
  }
  /// The keys from `first`, which may be any, on.
  std::uint64_t word(int row_index, int first) const;
};
using SharedBits = std::shared_ptr<const BitRows>;

/// Asks the predicate for every pair.
SharedBits bits_where(int rows, int keys, const std::function<bool(int row, int key)>& sees);

SharedBits both(const BitRows& a, const BitRows& b);
SharedBits complement(const BitRows& bits);
SharedBits transposed(const BitRows& bits);

}  // namespace sparkbench
