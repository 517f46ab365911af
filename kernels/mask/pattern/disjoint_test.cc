#include "kernels/mask/pattern/disjoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr int kSide = 60;

/// The number of terms left, after checking that each pair is in one of them.
std::size_t terms_of(const char* text) {
  const Pattern pattern = parse_pattern(text, kSide, kSide);
  const Picture want(kSide, kSide, [&](int row, int key) { return sees(pattern, 0, row, key); });
  const Pattern apart = disjoint(pattern);
  EXPECT_EQ(takers_differ(apart, 0, want), "") << text;
  return apart.terms(0).size();
}

bool hides(const Pattern& pattern) {
  const Pattern apart = disjoint(pattern);
  return std::any_of(apart.terms(0).begin(), apart.terms(0).end(),
                     [](const Term& term) { return term.hidden_by != 0; });
}

TEST(Disjoint, TrimsToFewTerms) {
  EXPECT_EQ(terms_of("full"), 1u);
  EXPECT_EQ(terms_of("prefix:9"), 2u);
  EXPECT_EQ(terms_of("sink:4+window:9"), 2u);
  EXPECT_EQ(terms_of("window:9+causal-strided:4"), 2u);
  EXPECT_EQ(terms_of("causal-strided:4+window:9"), 2u);
  EXPECT_EQ(terms_of("fixed:12:3"), 2u);
  EXPECT_EQ(terms_of("longformer:3:4"), 3u);
  EXPECT_EQ(terms_of("window:9+band:3:0+causal"), 2u);
}

TEST(Disjoint, LeavesOutWhatIsTakenAlready) {
  EXPECT_EQ(terms_of("causal+full"), 1u);
  EXPECT_EQ(terms_of("chunk:5+chunk:5"), 1u);
  EXPECT_EQ(terms_of("documents:9+full"), 1u);
  EXPECT_EQ(terms_of("sink:100+causal"), 1u);
}

TEST(Disjoint, HidesWhatZonesCannotCut) {
  for (const char* const text : {"strided:4+strided:7", "chunk:5+nd:6x10:3x3+blocked:7"}) {
    EXPECT_TRUE(hides(parse_pattern(text, kSide, kSide))) << text;
    EXPECT_GE(terms_of(text), 2u);
  }
  for (const char* const text : {"window:9+strided:7+sink:3", "chunk:6+strided:6+documents:9"}) {
    EXPECT_FALSE(hides(parse_pattern(text, kSide, kSide))) << text;
    EXPECT_GE(terms_of(text), 2u);
  }
}

TEST(Disjoint, RefusesMoreThan64Terms) {
  Pattern pattern = empty_pattern(200, 200);
  for (int i = 0; i < 65; ++i) {
    Term term;
    term.flat = {3 * i, 3 * i + 1, 0, 200, -kUnbounded, kUnbounded};
    pattern.unions[0].push_back(term);
  }
  EXPECT_THROW(disjoint(pattern), std::invalid_argument);
  pattern.unions[0].pop_back();
  EXPECT_EQ(disjoint(pattern).terms(0).size(), 64u);
}

}  // namespace
}  // namespace sparkbench
