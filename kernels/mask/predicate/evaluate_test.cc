#include "kernels/mask/predicate/evaluate.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/mask/predicate/pair_predicate.h"
#include "kernels/mask/predicate/test_expressions.h"

namespace sparkbench {
namespace {

constexpr int kExpressions = 10000;

ExpressionPoint drawn_point(std::mt19937& random) {
  const int seqlen_q = drawn_between(random, 1, 300), seqlen_k = drawn_between(random, 1, 300);
  return {drawn_between(random, -40, 300), drawn_between(random, 0, 300),
          drawn_between(random, 0, 12), seqlen_q, seqlen_k};
}

TEST(Evaluate, HasTheSameWordsAsPairs) {
  std::mt19937 random(1);
  for (int i = 0; i < kExpressions; ++i) {
    const Expression expression = drawn_expression(random);
    const ExpressionPoint first = drawn_point(random);
    for (const bool is_of_keys : {false, true}) {
      std::uint64_t want = 0;
      for (int lane = 0; lane < 64; ++lane) {
        ExpressionPoint point = first;
        (is_of_keys ? point.k : point.q) += lane;
        want |= static_cast<std::uint64_t>(value_of(expression, point) != 0 ? 1 : 0) << lane;
      }
      ASSERT_EQ(word_of(expression, first, is_of_keys), want) << text_of(expression);
    }
  }
}

TEST(Evaluate, BoundsHaveEveryValue) {
  std::mt19937 random(2);
  int narrow = 0;
  for (int i = 0; i < kExpressions; ++i) {
    const Expression expression = drawn_expression(random);
    const ExpressionPoint first = drawn_point(random);
    ExpressionPoint last = first;
    last.q += drawn_between(random, 0, 9);
    last.k += drawn_between(random, 0, 9);
    const WholeBounds bounds = bounds_of(expression, first, last);
    narrow += bounds.least == bounds.most ? 1 : 0;
    for (ExpressionPoint point = first; point.q <= last.q; ++point.q) {
      for (point.k = first.k; point.k <= last.k; ++point.k) {
        const Whole value = value_of(expression, point);
        ASSERT_TRUE(bounds.least <= value && value <= bounds.most)
            << text_of(expression) << " is " << value << ", not in " << bounds.least << " to "
            << bounds.most << " at q " << point.q << ", k " << point.k;
      }
    }
  }
  EXPECT_GT(narrow, kExpressions / 10);
}

TEST(Evaluate, BoundsTellTilesOfCommonMasks) {
  const auto cover = [](std::string_view text, const Range& rows, const Range& keys) {
    return PairPredicate(parse_expression(text), {0, 0, 0, 1024, 1024}).cover(rows, keys);
  };
  const Range first = {0, 64}, second = {64, 128}, far = {512, 576};
  EXPECT_EQ(cover("k <= q", second, first), TileCover::kFull);
  EXPECT_EQ(cover("k <= q", first, second), TileCover::kEmpty);
  EXPECT_EQ(cover("k <= q", first, first), TileCover::kCut);
  EXPECT_EQ(cover("abs(q - k) < 128", far, first), TileCover::kEmpty);
  EXPECT_EQ(cover("abs(q - k) < 128", second, first), TileCover::kFull);
  EXPECT_EQ(cover("q / 64 == k / 64", far, far), TileCover::kFull);
  EXPECT_EQ(cover("q / 64 == k / 64", far, first), TileCover::kEmpty);
  EXPECT_EQ(cover("(q & 63) < 64 || k", far, first), TileCover::kFull);
  EXPECT_EQ(cover("q >> 6 == k >> 6", far, far), TileCover::kFull);
}

TEST(PairPredicate, IsTransposedNegatedAndJoined) {
  const ExpressionPoint names = {0, 0, 3, 90, 100};
  const PairPredicate one(parse_expression("k <= q"), names);
  const PairPredicate two(parse_expression("(q * k + h) % 3 == 0"), names);
  const SharedPredicate joined = both(one, *complement(two)), turned = transposed(*joined);
  for (int q = 0; q < 90; ++q) {
    for (int k = 0; k < 100; ++k) {
      const bool want = k <= q && (q * k + 3) % 3 != 0;
      ASSERT_EQ(joined->sees(q, k), want);
      ASSERT_EQ(turned->sees(k, q), want);
      ASSERT_EQ((joined->word(q, k) & 1) != 0, want);
      ASSERT_EQ((turned->word(k, q) & 1) != 0, want);
    }
  }
  EXPECT_EQ(of_head(two, 4)->sees(1, 1), (1 + 4) % 3 == 0);
  EXPECT_EQ(of_head(two, 5)->sees(1, 1), (1 + 5) % 3 == 0);
}

}  // namespace
}  // namespace sparkbench
