#include "kernels/mask/pattern/bit_rows.h"

#include "kernels/base/ceil_divide.h"

namespace sparkbench {

BitRows::BitRows(int row_count, int key_count)
    : rows(row_count),
      keys(key_count),
      row_words(static_cast<std::size_t>(ceil_divide(key_count, kWordKeys))),
      words(static_cast<std::size_t>(row_count) * row_words) {}

std::uint64_t BitRows::word(int row_index, int first) const {
  const std::span<const std::uint64_t> all = row(row_index);
  const auto at = [&](int index) {
    return index < 0 || static_cast<std::size_t>(index) >= row_words
               ? std::uint64_t{0}
               : all[static_cast<std::size_t>(index)];
  };
  const int index = first >= 0 ? first / kWordKeys : -ceil_divide(-first, kWordKeys);
  const int shift = first - index * kWordKeys;
  return shift == 0 ? at(index) : at(index) >> shift | at(index + 1) << (kWordKeys - shift);
}

SharedBits bits_where(int rows, int keys, const std::function<bool(int row, int key)>& sees) {
  BitRows bits(rows, keys);
  for (int row = 0; row < rows; ++row) {
    const std::span<std::uint64_t> words = bits.row(row);
    for (int key = 0; key < keys; ++key) {
      if (!sees(row, key)) continue;
      words[static_cast<std::size_t>(key / kWordKeys)] |= std::uint64_t{1} << (key % kWordKeys);
    }
  }
  return std::make_shared<const BitRows>(std::move(bits));
}

SharedBits both(const BitRows& a, const BitRows& b) {
  BitRows bits = a;
  for (std::size_t i = 0; i < bits.words.size(); ++i) bits.words[i] &= b.words[i];
  return std::make_shared<const BitRows>(std::move(bits));
}

SharedBits complement(const BitRows& bits) {
  BitRows other = bits;
  for (int row = 0; row < bits.rows; ++row) {
    int first = 0;
    for (std::uint64_t& word : other.row(row)) {
      word = ~word & key_bits({0, bits.keys}, first);
      first += kWordKeys;
    }
  }
  return std::make_shared<const BitRows>(std::move(other));
}

SharedBits transposed(const BitRows& bits) {
  return bits_where(bits.keys, bits.rows, [&](int row, int key) { return bits.sees(key, row); });
}

}  // namespace sparkbench
