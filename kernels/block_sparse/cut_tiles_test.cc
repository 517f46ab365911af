// Cut tiles of patterns in the order of a grid. sparse_lists_test.cc has those of the sequence's.
#include "kernels/block_sparse/cut_tiles.h"

#include <gtest/gtest.h>

#include "kernels/mask/pattern/ordered_pattern.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {
namespace {

constexpr SparseListKind kKinds[] = {
    {false, 128, 64}, {false, 64, 64}, {false, 32, 32}, {true, 128, 32}, {true, 64, 64}};

/// The words that are kept of a tile.
std::vector<std::uint32_t> kept_of(const std::vector<std::uint32_t>& words, const CutTile& tile,
                                   int rows, int keys) {
  const auto begin = words.begin() + tile.words;
  return {begin, begin + rows * (keys / kSparseWordKeys)};
}

/// The same by the definition.
std::vector<std::uint32_t> wanted_of(const Picture& want, int first_row, int first_key, int rows,
                                     int keys) {
  std::vector<std::uint32_t> words;
  for (int row = first_row; row < first_row + rows; ++row) {
    for (int first = first_key; first < first_key + keys; first += kSparseWordKeys) {
      std::uint32_t word = 0;
      for (int i = 0; i < kSparseWordKeys; ++i) {
        const int key = first + i;
        if (row < want.rows && key < want.keys && want.at(row, key)) word |= 1u << i;
      }
      words.push_back(word);
    }
  }
  return words;
}

/// Tiles of one signature share their words, so that each is compared with its own.
TEST(CutTiles, OfARandomOrderHaveTheirOwnWords) {
  for (int seed = 0; seed < 60; ++seed) {
    Random random(static_cast<unsigned>(seed));
    const RandomPattern drawn = random_ordered_pattern(random, 150);
    const Picture& want = drawn.of_unions[0];
    for (const SparseListKind& kind : kKinds) {
      const int rows = kind.is_of_keys ? kind.step : kind.block_rows;
      const int keys = kind.is_of_keys ? kind.block_rows : kind.step;
      std::vector<std::uint32_t> words;
      CutTiles tiles(drawn.pattern, kind, words);
      for (int row = 0; row < want.rows; row += rows) {
        for (int key = 0; key < want.keys; key += keys) {
          const CutTile tile = tiles.of(0, row, key);
          ASSERT_EQ(kept_of(words, tile, rows, keys), wanted_of(want, row, key, rows, keys))
              << drawn.name << ", row " << row << ", key " << key << " of " << rows << " x "
              << keys;
        }
      }
    }
  }
}

/// A neighbourhood has few kinds of cut tiles, however long it is.
TEST(CutTiles, OfANeighbourhoodGrowByKindsOfTiles) {
  const auto words_of = [](const char* spec, int seqlen) {
    const auto ordered = pattern_in_order(parse_pattern(spec, seqlen, seqlen));
    std::vector<std::uint32_t> words;
    const SparseListKind kind = kKinds[0];
    CutTiles tiles(*ordered, kind, words);
    const TilePlan plan = sparkbench::plan(*ordered, 0, kind.block_rows, kind.step);
    for (int block = 0; block < plan.row_tiles(); ++block) {
      for (const Span& span : plan.spans_of(block)) {
        if (span.cover == TileCover::kFull) continue;
        for (int tile = span.begin; tile < span.end; ++tile) {
          tiles.of(0, block * kind.block_rows, tile * kind.step);
        }
      }
    }
    return words.size();
  };
  EXPECT_EQ(words_of("nd:128x128:20x20", 128 * 128), words_of("nd:256x128:20x20", 256 * 128));
  EXPECT_EQ(words_of("causal-nd:128x128:20x20", 128 * 128),
            words_of("causal-nd:256x128:20x20", 256 * 128));
}

}  // namespace
}  // namespace sparkbench
