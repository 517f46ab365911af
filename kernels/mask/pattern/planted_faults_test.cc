// The checks of random patterns, given wrong patterns on purpose: they must detect them.
#include <gtest/gtest.h>

#include "kernels/mask/pattern/disjoint.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr int kPlantedSide = 300;
constexpr const char* kMasks[] = {"window:40",        "band:30:70",
                                  "chunk:64",         "causal-strided:16",
                                  "sink:9+window:70", "longformer:20:9",
                                  "documents:50",     "nd:15x20:5x7",
                                  "fixed:64:9",       "window:33+causal-strided:16"};

struct Planted {
  Pattern pattern;
  Picture picture;
};

Planted planted_in(const char* text) {
  const Pattern pattern = parse_pattern(text, kPlantedSide, kPlantedSide);
  return {pattern, {kPlantedSide, kPlantedSide, [&](int row, int key) {
                      return sees(pattern, 0, row, key);
                    }}};
}

TEST(PlantedFaults, ASpanOneTileShortIsFound) {
  for (const char* const mask : kMasks) {
    const Planted planted = planted_in(mask);
    const TilePlan right = plan(planted.pattern, 0, 32, 16);
    ASSERT_EQ(tiles_differ(right, planted.picture), "") << mask;
    for (std::size_t i = 0; i < right.spans.size(); ++i) {
      TilePlan first = right, last = right;
      ++first.spans[i].begin;
      --last.spans[i].end;
      EXPECT_NE(tiles_differ(first, planted.picture), "") << mask << ", span " << i;
      EXPECT_NE(tiles_differ(last, planted.picture), "") << mask << ", span " << i;
    }
  }
}

TEST(PlantedFaults, ACutTileCalledFullIsFound) {
  for (const char* const mask : kMasks) {
    const Planted planted = planted_in(mask);
    TilePlan wrong = plan(planted.pattern, 0, 32, 16);
    for (Span& span : wrong.spans) {
      if (span.cover == TileCover::kFull) continue;
      span.cover = TileCover::kFull;
      EXPECT_NE(tiles_differ(wrong, planted.picture), "") << mask;
      span.cover = TileCover::kCut;
    }
  }
}

using Bound = int Zone::*;
constexpr Bound kBounds[][2] = {
    {&Zone::q0, &Zone::k0}, {&Zone::q1, &Zone::k1}, {&Zone::d0, &Zone::d1}};

/// Swaps each bound of every zone of the pattern with its counterpart, one at a time.
TEST(PlantedFaults, ASwappedBoundIsFound) {
  int found = 0;
  for (const char* const mask : kMasks) {
    const Planted planted = planted_in(mask);
    Pattern wrong = planted.pattern;
    for (Term& term : wrong.unions[0]) {
      Zone* const zones[] = {&term.flat, &term.grid.zone[0], &term.grid.zone[1]};
      // A clamped window's width is that of its offsets: swapped, it has none.
      const int count = term.grid.clamp != Clamp::kNone ? 1 : 1 + term.grid.axes;
      for (int i = 0; i < count; ++i) {
        for (const auto& [a, b] : kBounds) {
          const Zone right = *zones[i];
          std::swap(zones[i]->*a, zones[i]->*b);
          if (*zones[i] == right) continue;
          EXPECT_NE(sees_differ(wrong, 0, planted.picture), "") << mask;
          EXPECT_NE(words_differ(wrong, 0, planted.picture), "") << mask;
          *zones[i] = right;
          ++found;
        }
      }
    }
  }
  EXPECT_GT(found, 20);
}

TEST(PlantedFaults, AMissingTrimIsFound) {
  for (const char* const mask : {"sink:9+window:70", "longformer:20:9", "prefix:30",
                                 "window:33+causal-strided:16", "chunk:9+documents:50"}) {
    const Planted planted = planted_in(mask);
    EXPECT_NE(takers_differ(planted.pattern, 0, planted.picture), "") << mask;
    EXPECT_EQ(takers_differ(disjoint(planted.pattern), 0, planted.picture), "") << mask;
  }
}

}  // namespace
}  // namespace sparkbench
