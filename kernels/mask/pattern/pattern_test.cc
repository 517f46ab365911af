#include "kernels/mask/pattern/pattern.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr int kRows = 37, kKeys = 50;

Pattern parsed(const char* text) { return parse_pattern(text, kRows, kKeys); }

/// What both see: of their terms, each of one with each of the other.
Pattern joined(const Pattern& a, const Pattern& b) {
  Pattern of_both = a;
  of_both.unions.clear();
  for (int head = 0; head < 6; ++head) {
    std::vector<Term>& terms = of_both.unions.emplace_back();
    for (const Term& one : a.terms(head)) {
      for (const Term& other : b.terms(head)) {
        EXPECT_TRUE(can_be_both(one, other));
        terms.push_back(both(one, other));
      }
    }
  }
  return of_both;
}

void expect_joined(const char* one, const char* other) {
  const Pattern a = parsed(one), b = parsed(other), of_both = joined(a, b);
  for (int head = 0; head < 6; ++head) {
    const Picture want(kRows, kKeys, [&](int row, int key) {
      return sees(a, head, row, key) && sees(b, head, row, key);
    });
    EXPECT_EQ(sees_differ(of_both, head, want), "") << one << " and " << other;
    EXPECT_EQ(words_differ(of_both, head, want), "") << one << " and " << other;
    EXPECT_EQ(tiles_differ(plan(of_both, head, 16, 16), want), "") << one << " and " << other;
  }
}

TEST(Pattern, JoinsPatternsOfEveryKind) {
  expect_joined("band:9:9", "longformer:2:3");
  expect_joined("strided:7", "chunk:7");
  expect_joined("dilated:2:5/full", "window:9/chunk:5/causal");
  expect_joined("documents:7", "documents:20:9:30");
  expect_joined("nd:5x10:3x3", "documents:20");
  expect_joined("nd:5x10:3x3", "nd:5x10:3x3");
}

TEST(Pattern, JoinsBitsWithEveryKind) {
  Pattern bits = empty_pattern(kRows, kKeys);
  const auto is_visible = [](int row, int key) { return (row / 3 + key / 5) % 3 == 0; };
  bits.unions = {{{.bits = bits_where(kRows, kKeys, is_visible)}}};
  for (const char* const mask : {"window:9", "strided:4", "documents:9", "nd:5x10:3x5"}) {
    const Pattern other = parsed(mask), of_all = joined(joined(bits, other), bits);
    const Picture want(kRows, kKeys, [&](int row, int key) {
      return is_visible(row, key) && sees(other, 0, row, key);
    });
    EXPECT_EQ(sees_differ(of_all, 0, want), "") << mask;
    EXPECT_EQ(words_differ(of_all, 0, want), "") << mask;
    EXPECT_EQ(tiles_differ(plan(of_all, 0, 16, 32), want), "") << mask;
  }
}

TEST(Pattern, HasNoGridOfUnlikeAxes) {
  const auto can_join = [](const char* one, const char* other) {
    return can_be_both(parsed(one).terms(0)[0], parsed(other).terms(0)[0]);
  };
  EXPECT_FALSE(can_join("chunk:3", "chunk:4"));
  EXPECT_FALSE(can_join("chunk:10", "nd:5x10:3x3"));
  EXPECT_TRUE(can_join("chunk:3", "chunk:3"));
  // With the bits of one of them it works.
  const Pattern a = parsed("chunk:3"), b = parsed("chunk:4");
  Pattern bits = b;
  bits.unions = {{{.bits = bits_of(b, 0)}}};
  const Picture want(
      kRows, kKeys, [&](int row, int key) { return sees(a, 0, row, key) && sees(b, 0, row, key); });
  EXPECT_EQ(sees_differ(joined(a, bits), 0, want), "");
}

TEST(Pattern, RefusesLengthsThatDoNotFit) {
  EXPECT_THROW(empty_pattern(0, 4), std::invalid_argument);
  EXPECT_THROW(empty_pattern(4, kLongestSequence + 1), std::invalid_argument);
}

TEST(Pattern, IsBlindOutsideOfItsSequences) {
  const Pattern pattern = parsed("full");
  EXPECT_TRUE(sees(pattern, 0, kRows - 1, kKeys - 1));
  EXPECT_FALSE(sees(pattern, 0, kRows, 0));
  EXPECT_FALSE(sees(pattern, 0, 0, kKeys));
  EXPECT_FALSE(sees(pattern, 0, -1, 0));
  EXPECT_EQ(key_word(pattern, 0, kRows, 0), 0u);
}

TEST(Pattern, CountsPairsOfLongSequences) {
  constexpr std::uint64_t kLongSide = 1 << 16;
  const auto pairs = [&](const char* text) {
    return visible_pairs(parse_pattern(text, kLongSide, kLongSide), 0);
  };
  EXPECT_EQ(pairs("full"), kLongSide * kLongSide);
  EXPECT_EQ(pairs("causal"), kLongSide * (kLongSide + 1) / 2);
  EXPECT_EQ(pairs("strided:128"), kLongSide * kLongSide / 128);
  EXPECT_EQ(pairs("chunk:128"), kLongSide * 128);
  EXPECT_EQ(pairs("nd:256x256:80x80"), kLongSide * 80 * 80);
}

}  // namespace
}  // namespace sparkbench
