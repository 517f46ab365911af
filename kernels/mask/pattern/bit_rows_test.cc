#include "kernels/mask/pattern/bit_rows.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

bool is_visible(int row, int key) { return (7 * row + 3 * key) % 5 < 2; }

TEST(BitRows, HoldWhatTheirPredicateSays) {
  const SharedBits bits = bits_where(70, 130, is_visible);
  const SharedBits turned = transposed(*bits), other = complement(*bits);
  for (int row = 0; row < 70; ++row) {
    for (int key = 0; key < 130; ++key) {
      ASSERT_EQ(bits->sees(row, key), is_visible(row, key));
      ASSERT_EQ(turned->sees(key, row), is_visible(row, key));
      ASSERT_EQ(other->sees(row, key), !is_visible(row, key));
      ASSERT_FALSE(both(*bits, *other)->sees(row, key));
    }
  }
}

TEST(BitRows, GiveWordsFromAnyKeyOn) {
  const SharedBits bits = bits_where(3, 130, is_visible);
  for (const int first : {-200, -64, -5, 0, 1, 63, 64, 100, 128, 129, 130, 500}) {
    for (int i = 0; i < kWordKeys; ++i) {
      const int key = first + i;
      const bool want = key >= 0 && key < 130 && is_visible(2, key);
      ASSERT_EQ(bits->word(2, first) >> i & 1, want ? 1u : 0u) << first << ", " << i;
    }
  }
}

TEST(BitRows, HaveNoBitPastTheLastKey) {
  const SharedBits all = complement(*bits_where(2, 70, [](int, int) { return false; }));
  EXPECT_EQ(all->row(1)[1], 0x3fu);
}

TEST(BitRows, TellARangeAsAWord) {
  EXPECT_EQ(key_bits({3, 5}, 0), 0x18u);
  EXPECT_EQ(key_bits({-9, 99}, 0), ~std::uint64_t{0});
  EXPECT_EQ(key_bits({70, 80}, 0), 0u);
  EXPECT_EQ(key_bits({5, 3}, 0), 0u);
}

}  // namespace
}  // namespace sparkbench
