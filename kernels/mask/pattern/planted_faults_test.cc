// The checks that random patterns pass, on purpose given what is wrong: they must tell it.
#include <gtest/gtest.h>

#include "kernels/mask/pattern/disjoint.h"
#include "kernels/mask/pattern/ordered_pattern.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr int kSide = 300;
constexpr const char* kMasks[] = {"window:40",        "band:30:70",
                                  "chunk:64",         "causal-strided:16",
                                  "sink:9+window:70", "longformer:20:9",
                                  "documents:50",     "nd:15x20:5x7",
                                  "fixed:64:9",       "window:33+causal-strided:16"};

struct Planted {
  Pattern pattern;
  Picture picture;
};

Planted parsed(const char* text) {
  const Pattern pattern = parse_pattern(text, kSide, kSide);
  return {pattern, {kSide, kSide, [&](int row, int key) { return sees(pattern, 0, row, key); }}};
}

TEST(PlantedFaults, ASpanOneTileShortIsFound) {
  for (const char* const mask : kMasks) {
    const Planted planted = parsed(mask);
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
    const Planted planted = parsed(mask);
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

/// Every zone of the pattern in turn, each of its bounds swapped with its counterpart.
TEST(PlantedFaults, ASwappedBoundIsFound) {
  int found = 0;
  for (const char* const mask : kMasks) {
    const Planted planted = parsed(mask);
    Pattern wrong = planted.pattern;
    for (Term& term : wrong.unions[0]) {
      Zone* const zones[] = {&term.flat, &term.grid.zone[0], &term.grid.zone[1]};
      // A clamped window's width is that of its offsets: swapped it is none.
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
    const Planted planted = parsed(mask);
    EXPECT_NE(takers_differ(planted.pattern, 0, planted.picture), "") << mask;
    EXPECT_EQ(takers_differ(disjoint(planted.pattern), 0, planted.picture), "") << mask;
  }
}

/// Over 12 x 21 tokens in tiles of 4 x 16, the second of which begins at column 5.
class OrderedFaults : public testing::Test {
 protected:
  const GridOrder right_ = {{12, 21, 1}, {2, 4, 0}, {0, 2, 6}};
  const Pattern tokens_ = parse_pattern("nd:12x21:5x7+window:30", 252, 252);
  const Picture picture_{right_.positions(), right_.positions(), [this](int row, int key) {
                           return right_.owns(row) && right_.owns(key) &&
                                  sees(tokens_, 0, right_.token_of(row), right_.token_of(key));
                         }};

  std::string words_of(const GridOrder& order) const {
    Pattern pattern = in_order(tokens_, order);
    pattern.seqlen_q = pattern.seqlen_k = right_.positions();
    return words_differ(pattern, 0, picture_);
  }
};

TEST_F(OrderedFaults, AWrongStepIsFound) {
  ASSERT_EQ(words_of(right_), "");
  GridOrder swapped = right_, halves = right_, lines = right_;
  swapped.shift[0] = 4, swapped.shift[1] = 0;
  EXPECT_NE(words_of(swapped), "");
  halves.bits[0] = 3, halves.bits[1] = 3, halves.shift[1] = 3;
  EXPECT_NE(words_of(halves), "");
  lines.extent[0] = 21, lines.extent[1] = 12;
  lines.bits[0] = 4, lines.bits[1] = 2, lines.shift[0] = 2, lines.shift[1] = 0;
  EXPECT_NE(words_of(lines), "");
}

/// As if tokens that two tiles share were both tiles' own.
TEST_F(OrderedFaults, AMissingOwnerIsFound) {
  const Picture both{right_.positions(), right_.positions(), [this](int row, int key) {
                       return sees(tokens_, 0, right_.token_of(row), right_.token_of(key));
                     }};
  const Pattern pattern = in_order(tokens_, right_);
  ASSERT_EQ(sees_differ(pattern, 0, picture_), "");
  EXPECT_NE(sees_differ(pattern, 0, both), "");
  EXPECT_NE(words_differ(pattern, 0, both), "");
  // A tile with such a token is no full one.
  const TilePlan right = plan(pattern, 0, 16, 16);
  ASSERT_EQ(tiles_differ(right, picture_), "");
  TilePlan wrong = right;
  for (Span& span : wrong.spans) {
    if (span.cover == TileCover::kFull) continue;
    span.cover = TileCover::kFull;
    EXPECT_NE(tiles_differ(wrong, picture_), "");
    span.cover = TileCover::kCut;
  }
  for (std::size_t i = 0; i < right.spans.size(); ++i) {
    TilePlan shorter = right;
    --shorter.spans[i].end;
    EXPECT_NE(tiles_differ(shorter, picture_), "") << i;
  }
}

TEST(PlantedFaults, AMissingTermIsFound) {
  for (const char* const mask : {"sink:9+window:70", "longformer:20:9", "fixed:64:9"}) {
    Planted planted = parsed(mask);
    planted.pattern.unions[0].pop_back();
    EXPECT_NE(sees_differ(planted.pattern, 0, planted.picture), "") << mask;
    EXPECT_NE(takers_differ(disjoint(planted.pattern), 0, planted.picture), "") << mask;
  }
}

}  // namespace
}  // namespace sparkbench
