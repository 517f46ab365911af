#include "kernels/mask/pattern/acsr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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
    const double density = static_cast<double>(visible_pairs(pattern, 0)) / kTokens / kTokens;
    EXPECT_NEAR(density, one.density, 0.006) << one.mask;
  }
}

/// Compares the keys of each row with those that it sees, pair by pair.
void expect_keys(const Pattern& pattern, const std::string& what) {
  const std::vector<AcsrRow> rows = acsr_of(pattern, 0);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(pattern.seqlen_q)) << what;
  for (int row = 0; row < pattern.seqlen_q; ++row) {
    const auto& [offset, stride, count] = rows[static_cast<std::size_t>(row)];
    std::vector<int> keys, visible;
    for (int i = 0; i < count; ++i) keys.push_back(offset + i * stride);
    for (int key = 0; key < pattern.seqlen_k; ++key) {
      if (sees(pattern, 0, row, key)) visible.push_back(key);
    }
    EXPECT_EQ(keys, visible) << what << ", row " << row;
  }
}

TEST(Acsr, HasTheKeysThatAreSeen) {
  for (const char* const text : {"full", "causal", "window:9", "band:9:2", "blocked:10", "chunk:10",
                                 "strided:9", "causal-strided:9", "dilated:2:9", "documents:9"}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(90, 90), {50, 97}}) {
      expect_keys(parse_pattern(text, seqlen_q, seqlen_k), text);
    }
  }
}

TEST(Acsr, OfRowsWithoutKeysAndOfOneHasNoStride) {
  Pattern pattern = empty_pattern(3, 4);
  BitRows bits(3, 4);
  bits.row(1)[0] = 0b1000;
  bits.row(2)[0] = 0b0101;
  pattern.unions = {{{.bits = std::make_shared<const BitRows>(std::move(bits))}}};
  EXPECT_EQ(acsr_of(pattern, 0), (std::vector<AcsrRow>{{0, 0, 0}, {3, 1, 1}, {0, 2, 2}}));
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
      expect_keys(pattern, std::to_string(extent));
    }
  }
}

TEST(Acsr, OfUnionsIsRefusedByTheRow) {
  try {
    acsr_of(parse_pattern("sink:1+window:2", 8, 8), 0);
    FAIL() << "a union is no progression";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "the keys of row 3 are in no arithmetic progression");
  }
}

}  // namespace
}  // namespace sparkbench
