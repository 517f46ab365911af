#include "kernels/mask/pattern/acsr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

/// The author's three patterns, at 10 to 50 % of 1,024 tokens: what row i of each sees in SPLAT's
/// code.
AcsrRow window_row(int i, int p, int seqlen) {
  const int begin = std::max(0, i - p), end = std::min(seqlen - 1, i + p) + 1;
  return {begin, 1, end - begin};
}
AcsrRow blocked_row(int i, int p, int seqlen) {
  const int begin = std::max(0, (i / p - 1) * p), end = std::min(seqlen, (i / p + 1) * p);
  return {begin, 1, end - begin};
}
AcsrRow strided_row(int i, int p, int seqlen) { return {i % p, p, (seqlen - 1 - i % p) / p + 1}; }

struct SplatCase {
  const char* mask;
  AcsrRow (*row)(int i, int p, int seqlen);
  int p;
  double density;
};
constexpr SplatCase kSplatCases[] = {
    {"band:52:52", window_row, 52, 0.10},    {"band:128:128", window_row, 128, 0.235},
    {"band:160:160", window_row, 160, 0.29}, {"band:299:299", window_row, 299, 0.50},
    {"blocked:64", blocked_row, 64, 0.12},   {"blocked:128", blocked_row, 128, 0.234},
    {"blocked:256", blocked_row, 256, 0.44}, {"strided:10", strided_row, 10, 0.10},
    {"strided:4", strided_row, 4, 0.25},     {"strided:2", strided_row, 2, 0.50},
};

TEST(Acsr, HasSplatsPatternsAtTheirDensities) {
  constexpr int kTokens = 1024;
  for (const SplatCase& one : kSplatCases) {
    const Pattern pattern = parse_pattern(one.mask, kTokens, kTokens);
    const std::vector<AcsrRow> rows = acsr_of(pattern, 0);
    for (int i = 0; i < kTokens; ++i) {
      const AcsrRow &row = rows[static_cast<std::size_t>(i)], want = one.row(i, one.p, kTokens);
      EXPECT_EQ(row, want) << one.mask << ", row " << i;
    }
    EXPECT_NEAR(density(pattern, 0), one.density, 0.006) << one.mask;
    const Pattern again = pattern_of(rows, kTokens);
    EXPECT_TRUE(again.terms(0)[0].is_closed_form()) << one.mask;
    EXPECT_EQ(acsr_of(again, 0), rows) << one.mask;
  }
}

const Term& term_of(const Pattern& pattern) { return pattern.terms(0)[0]; }

TEST(Acsr, ComesBackInTheLeastMemory) {
  for (const char* const text : {"full", "causal", "window:9", "band:9:2", "blocked:10", "chunk:10",
                                 "strided:9", "causal-strided:9", "dilated:2:9"}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(90, 90), {50, 97}}) {
      const Pattern pattern = parse_pattern(text, seqlen_q, seqlen_k);
      const Pattern again = pattern_of(acsr_of(pattern, 0), seqlen_k);
      // If lengths differ, the first rows may be too few to recognise a block.
      EXPECT_TRUE(seqlen_q != seqlen_k || term_of(again).is_closed_form()) << text;
      const Picture want(seqlen_q, seqlen_k,
                         [&](int row, int key) { return sees(pattern, 0, row, key); });
      EXPECT_EQ(sees_differ(again, 0, want), "") << text;
    }
  }
  const Pattern documents = parse_pattern("documents:9", 90, 90);
  EXPECT_NE(term_of(pattern_of(acsr_of(documents, 0), 90)).bounds, nullptr);
  const std::vector<AcsrRow> falling = {{4, 1, 2}, {0, 3, 2}, {}, {5, 1, 1}};
  const Pattern bits = pattern_of(falling, 6);
  EXPECT_NE(term_of(bits).bits, nullptr);
  EXPECT_EQ(acsr_of(bits, 0), falling);
}

/// A column's keys, bounded by rows, keys and lines, compared pair by pair.
TEST(Acsr, OfAColumnHasTheTermsBounds) {
  for (const auto& [seqlen_q, seqlen_k] : {std::pair(40, 40), {23, 50}, {50, 23}}) {
    for (const int extent : {1, 3, 7, 60}) {
      Pattern pattern = empty_pattern(seqlen_q, seqlen_k);
      Term term;
      term.flat = {5, 38, 4, 33, -20, 9};
      term.grid.axes = 2;
      term.grid.extent[0] = (seqlen_k + extent - 1) / extent;
      term.grid.extent[1] = extent;
      term.grid.zone[0] = {1, 12, 0, 11, -3, 5};
      term.grid.zone[1] = zone_of_offsets(0, 1);
      pattern.unions = {{term}};
      const Picture want(seqlen_q, seqlen_k,
                         [&](int row, int key) { return sees(pattern, 0, row, key); });
      EXPECT_EQ(sees_differ(pattern_of(acsr_of(pattern, 0), seqlen_k), 0, want), "") << extent;
    }
  }
}

TEST(Acsr, TakesRowsWithoutKeysAndOfOne) {
  const std::vector<AcsrRow> rows = {{0, 0, 0}, {3, 7, 1}, {2, 5, 0}};
  const Pattern pattern = pattern_of(rows, 4);
  EXPECT_EQ(acsr_of(pattern, 0), (std::vector<AcsrRow>{{0, 0, 0}, {3, 1, 1}, {0, 0, 0}}));
  EXPECT_EQ(visible_pairs(pattern_of(std::vector<AcsrRow>(5), 4), 0), 0u);
}

TEST(Acsr, OfUnionsIsRefusedByTheRow) {
  try {
    acsr_of(parse_pattern("sink:1+window:2", 8, 8), 0);
    FAIL() << "a union is no progression";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "the keys of row 3 are in no arithmetic progression");
  }
}

std::string why_refused(const AcsrRow& row) {
  return message_of<std::invalid_argument>([&] {
    pattern_of(std::vector<AcsrRow>{{0, 1, 1}, row}, 8);
  });
}

TEST(Acsr, SaysWhyRowsAreRefused) {
  EXPECT_EQ(why_refused({0, 1, -1}), "row 1 has -1 keys; allowed: 0 and more");
  EXPECT_EQ(why_refused({0, 0, 2}), "row 1 has stride 0; allowed: 1 and more");
  EXPECT_EQ(why_refused({3, 5, 2}), "row 1 sees the keys 3 to 8; allowed: 0 to 7");
  EXPECT_EQ(why_refused({-1, 1, 1}), "row 1 sees the keys -1 to -1; allowed: 0 to 7");
  EXPECT_EQ(why_refused({0, 2147483647, 2147483647}),
            "row 1 sees the keys 0 to 4611686011984936962; allowed: 0 to 7");
  EXPECT_EQ(why_refused({7, 0, 1}), "");
}

}  // namespace
}  // namespace sparkbench
