// Every answer of a mask against its definition, key by key.
#include "kernels/mask/key_mask.h"

#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "kernels/mask/test_masks.h"

namespace sparkbench {
namespace {

constexpr MaskSpec kExtremes[] = {MaskSpec::window(64),   MaskSpec::band(0, 9),
                                  MaskSpec::prefix(0),    MaskSpec::prefix(6),
                                  MaskSpec::prefix(1000), MaskSpec::band(2147483647, 2147483647)};
constexpr int kLengths[] = {1, 2, 7, 16, 33, 40};

template <class Check>
void for_every_mask(Check check) {
  std::vector<MaskSpec> masks(std::begin(kTestMasks), std::end(kTestMasks));
  masks.insert(masks.end(), std::begin(kExtremes), std::end(kExtremes));
  for (const MaskSpec& mask : masks) {
    for (const int seqlen_q : kLengths) {
      for (const int seqlen_k : kLengths) {
        SCOPED_TRACE(name_of(mask) + ", " + std::to_string(seqlen_q) + " x " +
                     std::to_string(seqlen_k));
        check(mask, make_key_mask(mask, seqlen_q, seqlen_k));
      }
    }
  }
}

TEST(KeyMask, SeesWhatItsSpecSays) {
  for_every_mask([](const MaskSpec& spec, const KeyMask& mask) {
    for (int row = 0; row < mask.seqlen_q; ++row) {
      for (int key = 0; key < mask.seqlen_k; ++key) {
        const bool want = sees_by_definition(spec, mask.seqlen_q, mask.seqlen_k, row, key);
        ASSERT_EQ(mask.sees(row, key), want) << row << ", " << key;
        ASSERT_EQ(mask.rows(key).contains(row), want) << row << ", " << key;
      }
    }
  });
}

TEST(KeyMask, KeepsKeysInsideTheSequence) {
  for_every_mask([](const MaskSpec&, const KeyMask& mask) {
    for (int row = 0; row < mask.seqlen_q + 128; ++row) {
      EXPECT_GE(mask.keys(row).begin, 0);
      EXPECT_LE(mask.keys(row).end, mask.seqlen_k);
    }
    for (int key = 0; key < mask.seqlen_k; ++key) {
      EXPECT_GE(mask.rows(key).begin, 0);
      EXPECT_LE(mask.rows(key).end, mask.seqlen_q);
    }
  });
}

TEST(KeyMask, ClassifiesEveryTile) {
  constexpr int kRows = 6, kKeys = 8;
  for_every_mask([](const MaskSpec&, const KeyMask& mask) {
    for (int row = 0; row < mask.seqlen_q; row += kRows) {
      for (int key = 0; key < mask.seqlen_k; key += kKeys) {
        const Range rows{row, least_of(row + kRows, mask.seqlen_q)};
        const Range keys{key, least_of(key + kKeys, mask.seqlen_k)};
        int seen = 0;
        for (int r = rows.begin; r < rows.end; ++r) {
          for (int k = keys.begin; k < keys.end; ++k) seen += mask.sees(r, k);
        }
        const TileCover cover = mask.cover(rows, keys);
        EXPECT_EQ(cover == TileCover::kFull, seen == rows.size() * keys.size());
        if (cover == TileCover::kEmpty) {
          EXPECT_EQ(seen, 0);
        }
        if (cover == TileCover::kCut) {
          EXPECT_GT(seen, 0) << row << ", " << key;
        }
        for (int k = keys.begin; k < keys.end; ++k) {
          const Range any = mask.rows_of_any(keys), all = mask.rows_of_all(keys);
          for (int r = 0; r < mask.seqlen_q; ++r) {
            if (mask.sees(r, k)) {
              EXPECT_TRUE(any.contains(r));
            }
            if (all.contains(r)) {
              EXPECT_TRUE(mask.sees(r, k));
            }
          }
        }
      }
    }
  });
}

TEST(KeyMask, CountsVisiblePairs) {
  for_every_mask([](const MaskSpec&, const KeyMask& mask) {
    std::uint64_t pairs = 0;
    for (int row = 0; row < mask.seqlen_q; ++row) {
      pairs += static_cast<std::uint64_t>(mask.keys(row).size());
    }
    EXPECT_EQ(visible_pairs(mask), pairs);
  });
}

TEST(KeyMask, CountsPairsOfLongSequences) {
  constexpr int kLength = 1 << 24;
  const KeyMask window = make_key_mask(MaskSpec::window(4096), kLength, kLength);
  EXPECT_EQ(visible_pairs(window), std::uint64_t{4096} * kLength - 4096ull * 4095 / 2);
  const KeyMask full = make_key_mask(MaskSpec::full(), kLength, kLength);
  EXPECT_EQ(visible_pairs(full), std::uint64_t{1} << 48);
}

TEST(KeyMask, CreditsASquareCausalMaskWithHalf) {
  EXPECT_EQ(twice_credited_pairs(MaskSpec::causal(), 10, 10), 100u);
  EXPECT_EQ(twice_credited_pairs(MaskSpec::causal(), 2, 3), 2u * (2 + 3));
  EXPECT_EQ(twice_credited_pairs(MaskSpec::full(), 10, 10), 200u);
  EXPECT_EQ(twice_credited_pairs(MaskSpec::window(2), 10, 10), 2u * 19);
}

TEST(KeyMask, GrowsWhereLastRowsSeeMore) {
  EXPECT_TRUE(make_key_mask(MaskSpec::causal(), 9, 9).grows());
  EXPECT_TRUE(make_key_mask(MaskSpec::window(3), 9, 9).grows());
  EXPECT_FALSE(make_key_mask(MaskSpec::full(), 9, 9).grows());
  EXPECT_FALSE(make_key_mask(MaskSpec::band(2, 2), 9, 9).grows());
}

TEST(RangeWord, HasABitForEachKey) {
  for (int begin = -3; begin < 70; ++begin) {
    for (int end = begin - 2; end < 70; ++end) {
      const std::uint32_t word = range_word({begin, end}, 20);
      for (int i = 0; i < 32; ++i) {
        ASSERT_EQ((word >> i) & 1u, Range({begin, end}).contains(20 + i) ? 1u : 0u);
      }
    }
  }
}

TEST(Tiles, BeginOnTheGridOfTiles) {
  EXPECT_EQ(first_tile<64>({0, 10}), 0);
  EXPECT_EQ(first_tile<64>({63, 100}), 0);
  EXPECT_EQ(first_tile<64>({64, 100}), 64);
  EXPECT_EQ(next_tile<64>({64, 300}, 64), 128);
}

}  // namespace
}  // namespace sparkbench
