#include "kernels/block_sparse/sparse_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/jit/tile_sights.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/mask/pattern/work_items.h"

namespace sparkbench {
namespace {

constexpr SparseListKind kForward = {false, 128, 64};
constexpr SparseListKind kKinds[] = {kForward, {false, 256, 64}, {false, 128, 32}, {true, 128, 32}};

/// How often the lists visit each pair of a head's pattern.
std::vector<int> visits_of(const SparseTileLists& lists, const SparseListKind& kind, int of_union,
                           int seqlen_q, int seqlen_k) {
  std::vector<int> visits(static_cast<std::size_t>(seqlen_q) * static_cast<std::size_t>(seqlen_k));
  const int rows = kind.is_of_keys ? kind.step : kind.block_rows;
  const int keys = kind.is_of_keys ? kind.block_rows : kind.step;
  for (int index = 0; index < lists.blocks_of_head(); ++index) {
    const SparseBlock& block = lists.block(of_union, index);
    for (int i = 0; i < block.tiles; ++i) {
      const SparseTile& tile = lists.tiles()[block.first_tile + i];
      const int first = first_of_tile(tile.first);
      const int first_row = kind.is_of_keys ? first : block.first_row;
      const int first_key = kind.is_of_keys ? block.first_row : first;
      for (int row = 0; row < rows; ++row) {
        for (int key = 0; key < keys; ++key) {
          const auto word =
              static_cast<std::size_t>(row * (keys / kSparseWordKeys) + key / kSparseWordKeys);
          const bool is_seen =
              !is_cut_tile(tile.first) ||
              (lists.words()[static_cast<std::size_t>(tile.words) + word] >> (key % 32) & 1u) != 0;
          if (!is_seen) continue;
          const bool is_inside = first_row + row < seqlen_q && first_key + key < seqlen_k;
          // A full tile may have rows past the last; in a partial one they see nothing.
          if (!is_inside) {
            EXPECT_FALSE(is_cut_tile(tile.first)) << row << ", " << key;
            continue;
          }
          ++visits[static_cast<std::size_t>(first_row + row) * static_cast<std::size_t>(seqlen_k) +
                   static_cast<std::size_t>(first_key + key)];
        }
      }
    }
  }
  return visits;
}

TEST(SparseLists, HaveEachVisiblePairOnce) {
  Random random(8);
  for (int i = 0; i < 60; ++i) {
    const RandomPattern drawn = random_pattern(random, 300);
    SparseMask mask;
    mask.pattern = drawn.pattern;
    for (const SparseListKind& kind : kKinds) {
      const SparseTileLists lists(mask, kind);
      for (int u = 0; u < lists.unions(); ++u) {
        const Picture& want = drawn.of_unions[static_cast<std::size_t>(u)];
        const std::vector<int> got = visits_of(lists, kind, u, want.rows, want.keys);
        ASSERT_TRUE(std::equal(got.begin(), got.end(), want.visible.begin()))
            << drawn.name << ", blocks of " << kind.block_rows << " by " << kind.step;
      }
    }
  }
}

/// What a warp does not see of a tile is what no row of it sees.
TEST(SparseLists, SayWhichHalvesAWarpSees) {
  const auto mask = make_sparse_mask("sink:4+window:100", 1000, 1000);
  const SparseTileLists lists(*mask, kForward);
  for (int index = 0; index < lists.blocks_of_head(); ++index) {
    const SparseBlock& block = lists.block(0, index);
    for (int i = 0; i < block.tiles; ++i) {
      const SparseTile& tile = lists.tiles()[block.first_tile + i];
      for (int bit = 0; bit < 8; ++bit) {
        const int first_row = block.first_row + bit / 2 * 32;
        const int first_key = first_of_tile(tile.first) + bit % 2 * 32;
        bool is_seen = false;
        for (int row = first_row; row < first_row + 32; ++row) {
          for (int key = first_key; key < first_key + 32; ++key) {
            is_seen = is_seen || sees(mask->pattern, 0, row, key);
          }
        }
        EXPECT_EQ((tile.seen >> bit & 1u) != 0, is_seen) << first_row << ", " << first_key;
      }
    }
  }
}

/// A closed form has few kinds of partial tiles, however long it is.
TEST(SparseLists, GrowByTilesAndNotByWords) {
  for (const std::string_view spec : {"window:128", "band:64:64", "chunk:256", "strided:48"}) {
    const SparseTileLists is(*make_sparse_mask(spec, 4096, 4096), kForward);
    const SparseTileLists twice(*make_sparse_mask(spec, 8192, 8192), kForward);
    EXPECT_EQ(is.words().size(), twice.words().size()) << spec;
  }
}

TEST(SparseLists, StartTheLongestBlocksFirst) {
  const SparseTileLists lists(*make_sparse_mask("longformer:64:16", 4096, 4096), kForward);
  for (int i = 1; i < lists.blocks_of_head(); ++i) {
    EXPECT_GE(lists.block(0, i - 1).tiles, lists.block(0, i).tiles);
  }
}

/// Every part is of the block's rows, has its share of the tiles, and its own workspace.
TEST(SparseLists, ShareTilesOfLongBlocksEvenly) {
  const auto mask = make_sparse_mask("longformer:64:16", 4096, 4096);
  for (const SparseListKind& kind : {kForward, SparseListKind{true, 128, 32}}) {
    const SparseTileLists lists(*mask, kind);
    ASSERT_EQ(lists.splits().size(), 1u);
    const SparseSplit& split = lists.splits().front();
    EXPECT_EQ(split.first_row, 0);
    EXPECT_EQ(split.parts, 2);
    EXPECT_EQ(lists.part_rows(), split.parts * kind.block_rows);
    EXPECT_EQ(rows_of_parts(*mask, kind), lists.part_rows());
    EXPECT_EQ(lists.blocks_of_head(), 4096 / 128 + 1);
    std::vector<int> rows;
    for (int i = 0; i < lists.blocks_of_head(); ++i) {
      const SparseBlock& block = lists.block(0, i);
      EXPECT_EQ(block.first_part_row != kNoPart, block.first_row == 0);
      if (block.first_row == 0) {
        EXPECT_EQ(block.tiles, 4096 / kind.step / 2);
        rows.push_back(block.first_part_row);
      }
    }
    EXPECT_EQ(rows, (std::vector<int>{0, kind.block_rows}));
  }
  SparseListKind whole = kForward;
  whole.splits = false;
  EXPECT_EQ(SparseTileLists(*mask, whole).part_rows(), 0);
}

/// Whatever a mask is called, its long blocks have the same parts.
TEST(SparseLists, ShareBlocksOfExpressionsAlike) {
  const auto mask = make_sparse_mask("where:q<16||k<16||(q-k<64&&k-q<64)", 4096, 4096);
  const auto zones = make_sparse_mask("longformer:63:16", 4096, 4096);
  for (const SparseListKind& kind : {kForward, SparseListKind{true, 128, 32}}) {
    EXPECT_EQ(rows_of_parts(*mask, kind), 2 * kind.block_rows);
    const SparseTileLists lists(*mask, kind), of_zones(*zones, kind);
    EXPECT_EQ(lists.part_rows(), 2 * kind.block_rows);
    ASSERT_EQ(lists.blocks_of_head(), of_zones.blocks_of_head());
    for (int i = 0; i < lists.blocks_of_head(); ++i) {
      EXPECT_EQ(lists.block(0, i).tiles, of_zones.block(0, i).tiles);
      EXPECT_EQ(lists.block(0, i).first_part_row, of_zones.block(0, i).first_part_row);
    }
  }
}

/// longformer 256, 16 at 16k, 12 heads: all slots of a V100 are done at nearly the same time.
TEST(SparseLists, BalanceLongRowsAndKeys) {
  const auto mask = make_sparse_mask("longformer:256:16", 16384, 16384);
  const auto ratio = [&](SparseListKind kind, int slots, int heads = 12) {
    const SparseTileLists lists(*mask, kind);
    std::vector<TileItem> items;
    for (int i = 0; i < lists.blocks_of_head(); ++i) {
      const int tiles = lists.block(0, i).tiles;
      for (int head = 0; head < heads; ++head) items.push_back({head, i, 0, tiles, 0, 1});
    }
    return balance_of(items, slots).ratio();
  };
  const auto unsplit = [](SparseListKind kind) {
    kind.splits = false;
    return kind;
  };
  constexpr SparseListKind kKeys = {true, 128, 32}, kWide = {false, 256, 64};
  EXPECT_GT(ratio(unsplit(kForward), 160), 2.0);
  EXPECT_LT(ratio(kForward, 160), 1.1);
  EXPECT_LT(ratio(kWide, 80), 1.1);
  EXPECT_LT(ratio(kKeys, 80), 1.1);
  // With twelve heads the longest blocks of keys take no longer than the others together.
  EXPECT_GT(ratio(unsplit(kKeys), 80, 4), 3.0);
  EXPECT_LT(ratio(kKeys, 80, 4), 1.1);
}

TEST(SparseLists, AreTheSameWhereTheyAreCopiedTo) {
  const SparseTileLists lists(*make_sparse_mask("window:100/full", 500, 500), kForward);
  std::vector<SparseTile> memory(lists.bytes() / sizeof(SparseTile) + 1);
  lists.write(reinterpret_cast<std::byte*>(memory.data()));
  const SparseLists copy = lists.at(memory.data());
  for (int u = 0; u < 2; ++u) {
    for (int i = 0; i < lists.blocks_of_head(); ++i) {
      const SparseBlock& want = lists.block(u, i);
      EXPECT_EQ(copy.block(u + 2, i)->first_row, want.first_row);
      EXPECT_EQ(copy.tiles[copy.block(u, i)->first_tile].first,
                lists.tiles()[want.first_tile].first);
    }
  }
  EXPECT_TRUE(std::equal(lists.words().begin(), lists.words().end(), copy.words));
}

/// A device block mask, by the pattern's definition. Sums are of mask bits, or all alike.
class SlowSights : public TileSights {
 public:
  SlowSights(const Pattern& pattern, bool are_sums_alike)
      : pattern_(pattern), are_sums_alike_(are_sums_alike) {}

  std::vector<SeenTile> of_union(int of_union, const SightedTiles& tiles) const override {
    std::vector<SeenTile> seen;
    for (int row = 0; row < pattern_.seqlen_q; row += tiles.rows) {
      for (int key = 0; key < pattern_.seqlen_k; key += tiles.keys) {
        seen.push_back(sight_of(of_union, tiles, row, key));
      }
    }
    return seen;
  }
  bool write_words(const SightedTiles& tiles, std::span<const Place> firsts,
                   std::span<const Place> others, std::span<std::uint32_t> words) const override {
    for (const Place& place : firsts) {
      const std::vector<std::uint32_t> own = words_of(place, tiles);
      std::copy(own.begin(), own.end(), words.begin() + place.tile.words);
    }
    return std::all_of(others.begin(), others.end(), [&](const Place& place) {
      const std::vector<std::uint32_t> own = words_of(place, tiles);
      return std::equal(own.begin(), own.end(), words.begin() + place.tile.words);
    });
  }

 private:
  std::vector<std::uint32_t> words_of(const Place& place, const SightedTiles& tiles) const {
    std::vector<std::uint32_t> words;
    const int first_key = place.tile.key_tile * tiles.keys;
    for (int row = 0; row < tiles.rows; ++row) {
      for (int key = first_key; key < first_key + tiles.keys; ++key) {
        if (key % 32 == 0) words.push_back(0);
        const bool is_seen =
            sees(pattern_, place.of_union, place.tile.row_tile * tiles.rows + row, key);
        words.back() |= static_cast<std::uint32_t>(is_seen) << key % 32;
      }
    }
    return words;
  }
  SeenTile sight_of(int of_union, const SightedTiles& tiles, int first_row, int first_key) const {
    bool is_any_seen = false, is_any_hidden = false;
    for (int row = first_row; row < first_row + tiles.rows; ++row) {
      for (int key = first_key; key < first_key + tiles.keys; ++key) {
        const bool is_past = tiles.is_of_keys ? key >= pattern_.seqlen_k : row >= pattern_.seqlen_q;
        const bool is_seen = sees(pattern_, of_union, row, key);
        is_any_seen = is_any_seen || is_seen;
        is_any_hidden = is_any_hidden || !(is_seen || is_past);
      }
    }
    const Place place{of_union, {first_row / tiles.rows, first_key / tiles.keys, 0, 0}};
    std::uint64_t sum = 0;
    if (!are_sums_alike_) {
      for (const std::uint32_t word : words_of(place, tiles))
        sum = sum * 0x9e3779b97f4a7c15u + word;
    }
    return {sum, !is_any_seen ? 0 : is_any_hidden ? 1 : 2, 0};
  }

  const Pattern& pattern_;
  bool are_sums_alike_;
};

bool are_same_lists(const SparseTileLists& a, const SparseTileLists& b) {
  std::vector<std::byte> of_a(a.bytes()), of_b(b.bytes());
  a.write(of_a.data());
  b.write(of_b.data());
  return of_a == of_b;
}

/// As those that the host makes, also where unlike tiles have one sum.
TEST(SparseLists, AreTheSameBySights) {
  for (const std::string_view spec :
       {"where:k<=q&&(q-k<100||k%64==0)", "window:100/where:q/128==k/128&&abs(q-k)<90",
        "where:(q*7+k*13)%5==0", "where:0", "where:1", "causal-where:(q+h)%3!=0"}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(300, 300), {290, 430}, {430, 290}}) {
      SparseMask mask = *make_sparse_mask(spec, seqlen_q, seqlen_k, 3);
      for (const SparseListKind& kind : kKinds) {
        mask.sights = nullptr;
        const SparseTileLists want(mask, kind);
        for (const bool are_alike : {false, true}) {
          mask.sights = std::make_shared<SlowSights>(mask.pattern, are_alike);
          EXPECT_TRUE(are_same_lists(SparseTileLists(mask, kind), want))
              << spec << ", " << seqlen_q << " x " << seqlen_k << ", blocks of " << kind.block_rows;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench
