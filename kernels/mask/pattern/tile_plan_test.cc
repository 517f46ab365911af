#include "kernels/mask/pattern/tile_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr auto kFull = TileCover::kFull, kCut = TileCover::kCut;

std::vector<Span> spans_of(const char* text, int seqlen, int row_tile) {
  const TilePlan tiles = plan(parse_pattern(text, seqlen, seqlen), 0, 64, 64);
  const std::span<const Span> spans = tiles.spans_of(row_tile);
  return {spans.begin(), spans.end()};
}

TEST(TilePlan, HasSpansOfFullAndCutTiles) {
  using Spans = std::vector<Span>;
  EXPECT_EQ(spans_of("full", 256, 2), (Spans{{0, 4, kFull}}));
  EXPECT_EQ(spans_of("causal", 256, 2), (Spans{{0, 2, kFull}, {2, 3, kCut}}));
  EXPECT_EQ(spans_of("window:192", 512, 5), (Spans{{2, 3, kCut}, {3, 5, kFull}, {5, 6, kCut}}));
  EXPECT_EQ(spans_of("sink:4+window:64", 512, 5), (Spans{{0, 1, kCut}, {4, 6, kCut}}));
  EXPECT_EQ(spans_of("chunk:128", 512, 5), (Spans{{4, 6, kFull}}));
  EXPECT_EQ(spans_of("chunk:128", 512, 0), (Spans{{0, 2, kFull}}));
  // A last tile that reaches past the last key needs a mask.
  EXPECT_EQ(spans_of("full", 200, 3), (Spans{{0, 3, kFull}, {3, 4, kCut}}));
}

TEST(TilePlan, JoinsWhatTermsFillTogether) {
  Pattern pattern = empty_pattern(64, 192);
  Term first, second;
  first.flat.k1 = 96;
  second.flat.k0 = 96;
  pattern.unions = {{second, first}};
  const TilePlan tiles = plan(pattern, 0, 64, 64);
  EXPECT_EQ(tiles.full_tiles, 3u);
  EXPECT_EQ(tiles.cut_tiles, 0u);
}

TEST(TilePlan, VisitsNothingWhereNothingIsSeen) {
  // Rows before the first key.
  const TilePlan tiles = plan(parse_pattern("causal", 256, 64), 0, 64, 64);
  EXPECT_EQ(tiles.tiles_of(0), 0);
  EXPECT_EQ(tiles.tiles_of(3), 1);
  EXPECT_EQ(tiles.executed_pairs(), 64u * 64u);
}

TEST(TilePlan, CountsWhatItWouldTakeInMemory) {
  const auto bytes = [](const Pattern& pattern) {
    return metadata_bytes(pattern, 0, plan(pattern, 0, 64, 64));
  };
  const auto of = [&](const char* text) { return bytes(parse_pattern(text, 1024, 1024)); };
  EXPECT_EQ(of("window:128"), 0u);
  EXPECT_EQ(of("sink:4+window:128"), 0u);
  EXPECT_EQ(of("longformer:64:16"), 0u);
  // Eight separate tiles are eight spans.
  EXPECT_EQ(of("strided:128"), 16u * 16u * 8u);
  // 16 documents of two tiles, each full: a span of each of 16 tiles of rows, and the arrays.
  EXPECT_EQ(of("documents:128:128:128:128:128:128:128:128"), 16u * 16u + 8u * 1024u);
  Pattern bits = empty_pattern(128, 128);
  bits.unions = {{{.bits = bits_where(128, 128, [](int row, int key) {
                     return row < 64 && (key < 64 || key == 100);
                   })}}};
  // A full tile and a partial one: two spans, and 64 words.
  EXPECT_EQ(bytes(bits), 2u * 16u + 64u * 8u);
}

TEST(TilePlan, RefusesTilesOfNothing) {
  const Pattern pattern = empty_pattern(4, 4);
  EXPECT_THROW(plan(pattern, 0, 0, 64), std::invalid_argument);
  EXPECT_THROW(plan(pattern, 0, 64, -1), std::invalid_argument);
}

/// A plan of one term of zones visits no tile without a visible pair, and calls every full tile
/// full.
TEST(TilePlan, IsExactForZones) {
  for (const char* const text : {"window:37", "band:5:90", "prefix:9", "blocked:50", "strided:41",
                                 "dilated:5:9", "nd:10x20:3x7", "nd:5x4x10:3x3x3"}) {
    const Pattern pattern = parse_pattern(text, 200, 200);
    for (const int size : {8, 16, 48}) {
      const TilePlan tiles = plan(pattern, 0, size, size);
      std::uint64_t touched = 0, full = 0;
      for (int row = 0; row < 200; row += size) {
        for (int key = 0; key < 200; key += size) {
          int seen = 0;
          for (int i = 0; i < size * size; ++i) {
            seen += sees(pattern, 0, row + i / size, key + i % size);
          }
          const int rows = std::min(size, 200 - row);
          touched += seen > 0;
          full += seen == rows * size;
        }
      }
      EXPECT_EQ(tiles.tiles(), touched) << text << ", " << size;
      EXPECT_EQ(tiles.full_tiles, full) << text << ", " << size;
    }
  }
}

}  // namespace
}  // namespace sparkbench
