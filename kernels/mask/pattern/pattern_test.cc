#include "kernels/mask/pattern/pattern.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr int kRows = 37, kKeys = 50;

Pattern parsed(const char* text) { return parse_pattern(text, kRows, kKeys); }

void expect_joined(const char* one, const char* other) {
  const Pattern a = parsed(one), b = parsed(other);
  const Pattern of_both = both(a, b), of_either = either(a, b);
  for (int head = 0; head < 6; ++head) {
    const Picture both_see(kRows, kKeys, [&](int row, int key) {
      return sees(a, head, row, key) && sees(b, head, row, key);
    });
    const Picture one_sees(kRows, kKeys, [&](int row, int key) {
      return sees(a, head, row, key) || sees(b, head, row, key);
    });
    EXPECT_EQ(sees_differ(of_both, head, both_see), "") << one << " and " << other;
    EXPECT_EQ(words_differ(of_both, head, both_see), "") << one << " and " << other;
    EXPECT_EQ(tiles_differ(plan(of_both, head, 16, 16), both_see), "") << one << " and " << other;
    EXPECT_EQ(sees_differ(of_either, head, one_sees), "") << one << " or " << other;
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
    const Pattern other = parsed(mask), joined = both(both(bits, other), bits);
    const Picture want(kRows, kKeys, [&](int row, int key) {
      return is_visible(row, key) && sees(other, 0, row, key);
    });
    EXPECT_EQ(sees_differ(joined, 0, want), "") << mask;
    EXPECT_EQ(words_differ(joined, 0, want), "") << mask;
    EXPECT_EQ(tiles_differ(plan(joined, 0, 16, 32), want), "") << mask;
  }
}

TEST(Pattern, HasNoGridOfUnlikeAxes) {
  EXPECT_THROW(both(parsed("chunk:3"), parsed("chunk:4")), std::invalid_argument);
  EXPECT_THROW(both(parsed("chunk:10"), parsed("nd:5x10:3x3")), std::invalid_argument);
  // With the bits of one of them it works.
  const Pattern a = parsed("chunk:3"), b = parsed("chunk:4");
  Pattern bits = b;
  bits.unions = {{{.bits = bits_of(b, 0)}}};
  const Picture want(
      kRows, kKeys, [&](int row, int key) { return sees(a, 0, row, key) && sees(b, 0, row, key); });
  EXPECT_EQ(sees_differ(both(a, bits), 0, want), "");
}

TEST(Pattern, RefusesLengthsThatDoNotJoinOrFit) {
  EXPECT_THROW(both(parse_pattern("full", 3, 4), parse_pattern("full", 4, 4)),
               std::invalid_argument);
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
  constexpr std::uint64_t kSide = 1 << 16;
  const auto pairs = [&](const char* text) {
    return visible_pairs(parse_pattern(text, kSide, kSide), 0);
  };
  EXPECT_EQ(pairs("full"), kSide * kSide);
  EXPECT_EQ(pairs("causal"), kSide * (kSide + 1) / 2);
  EXPECT_EQ(pairs("strided:128"), kSide * kSide / 128);
  EXPECT_EQ(pairs("chunk:128"), kSide * 128);
  EXPECT_EQ(pairs("nd:256x256:80x80"), kSide * 80 * 80);
  EXPECT_DOUBLE_EQ(density(parse_pattern("chunk:128", kSide, kSide), 0), 128.0 / kSide);
}

}  // namespace
}  // namespace sparkbench
