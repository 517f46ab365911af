#include "kernels/mask/pattern/ordered_pattern.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "kernels/mask/pattern/order_frame.h"
#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/test_orders.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/mask/pattern/tile_plan.h"
#include "kernels/mask/pattern/work_items.h"

namespace sparkbench {
namespace {

std::shared_ptr<const Pattern> ordered(const char* mask, int seqlen) {
  return pattern_in_order(parse_pattern(mask, seqlen, seqlen));
}

TEST(OrderedPattern, ShowsThePairsOfItsTokens) {
  for (const char* const mask :
       {"nd:60x70:16x16", "causal-nd:60x70:16x16", "nd:14x20x15:6x6x6", "sink:3+nd:60x70:16x16",
        "nd:60x70:16x16+nd:60x70:9x20", "fixed:100:20"}) {
    const Pattern tokens = parse_pattern(mask, 4200, 4200);
    const auto pattern = pattern_in_order(tokens);
    ASSERT_NE(pattern, nullptr) << mask;
    const GridOrder &of_rows = *pattern->row_order, &of_keys = *pattern->key_order;
    EXPECT_EQ(pattern->seqlen_q, of_rows.positions());
    EXPECT_EQ(pattern->seqlen_k, of_keys.positions());
    EXPECT_EQ(visible_pairs(*pattern, 0), visible_pairs(tokens, 0)) << mask;
    for (int row = 0; row < 4200; row += 31) {
      for (int key = 0; key < 4200; ++key) {
        ASSERT_EQ(sees(*pattern, 0, of_rows.position_of(row), of_keys.position_of(key)),
                  sees(tokens, 0, row, key))
            << mask << ", row " << row << ", key " << key;
      }
    }
  }
}

TEST(OrderedPattern, HasTilesThatFitNeighbourhoods) {
  const auto tile_of = [](const char* mask, int seqlen) {
    return tile_extents(*ordered(mask, seqlen)->row_order);
  };
  EXPECT_EQ(tile_of("nd:256x256:80x80", 65536), (std::vector{8, 8}));
  EXPECT_EQ(tile_of("nd:30x48x80:18x24x24", 115200), (std::vector{4, 4, 4}));
  EXPECT_EQ(tile_of("nd:56x56:7x7", 3136), (std::vector{4, 16}));
}

/// Blocks of rows want two tiles of one line of a fixed pattern, and blocks of keys the summaries
/// of four lines.
TEST(OrderedPattern, CountsKeysAlongTheAxisThatIsLeastWork) {
  const auto pattern = ordered("fixed:256:32", 16384);
  ASSERT_NE(pattern, nullptr);
  EXPECT_EQ(tile_extents(*pattern->row_order), (std::vector{2, 32}));
  EXPECT_EQ(joined_axis(*pattern->row_order), 1);
  EXPECT_EQ(joined_axis(*pattern->key_order), 0);
  EXPECT_EQ(pattern->key_order->token_of(kOrderTile), 512);
  const Pattern tokens = parse_pattern("fixed:256:32", 16384, 16384);
  const Pattern as_rows = in_order(tokens, *pattern->row_order);
  const auto backward = [](const Pattern& of) {
    return static_cast<double>(plan(transposed(of), 0, 128, 64).executed_pairs());
  };
  EXPECT_LT(backward(*pattern), 0.8 * backward(as_rows));
  EXPECT_LT(backward(*pattern), 0.5 * backward(tokens));
  EXPECT_EQ(plan(*pattern, 0, 128, 64).executed_pairs(),
            plan(as_rows, 0, 128, 64).executed_pairs());
}

TEST(OrderedPattern, HasRowsAndKeysOfTheSameTiles) {
  const Pattern tokens = parse_pattern("nd:16x32:5x5", 512, 512);
  const GridOrder order = {{16, 32, 1}, {3, 3, 0}, {3, 0, 6}};
  const Pattern pattern = in_order(tokens, order, counted_first_along(0, order));
  EXPECT_EQ(pattern.row_order->token_of(kOrderTile), 8);
  EXPECT_EQ(pattern.key_order->token_of(kOrderTile), 256);
  EXPECT_EQ(*transposed(pattern).key_order, *pattern.row_order);
  EXPECT_THROW(in_order(tokens, order, {{16, 32, 1}, {3, 3, 0}, {0, 3, 6}}), std::invalid_argument);
  EXPECT_THROW(both(pattern, in_order(tokens, order)), std::invalid_argument);
}

TEST(OrderedPattern, IsNoneWhereRowsAreAsGood) {
  for (const char* const mask :
       {"full", "causal", "window:128", "blocked:128", "chunk:128", "longformer:64:16",
        "documents:100", "strided:64", "dilated:9:4", "nd:4096:64", "nd:64x64:64x64",
        "nd:64x64:1x64", "where:q>k", "nd:64x64:9x9+strided:64", "nd:64x64:9x9+nd:32x128:9x9",
        "nd:64x64:9x9+documents:100", "nd:64x64:9x9/causal"}) {
    EXPECT_EQ(ordered(mask, 4096), nullptr) << mask;
  }
  EXPECT_EQ(ordered("nd:8x8:3x3", 64), nullptr);
  EXPECT_EQ(ordered("nd:3x5:3x3", 15), nullptr);
}

TEST(OrderedPattern, IsNoneUnlessRowsAreKeys) {
  Pattern pattern = parse_pattern("nd:64x64:16x16", 4096, 4096);
  ASSERT_NE(pattern_in_order(pattern), nullptr);
  EXPECT_EQ(pattern_in_order(*pattern_in_order(pattern)), nullptr);
  EXPECT_EQ(pattern_in_order(parse_pattern("nd:64x64:16x16", 64, 4096)), nullptr);
  pattern.row_at = 1;
  EXPECT_EQ(pattern_in_order(pattern), nullptr);
}

TEST(OrderedPattern, IsOfAMaskThatIsNotRunAsPasses) {
  for (const auto& make : {make_sparse_mask, make_uncounted_sparse_mask}) {
    const auto mask = make("nd:64x64:16x16", 4096, 4096, 0);
    ASSERT_NE(mask->in_order, nullptr);
    EXPECT_EQ(&mask->walked(), mask->in_order.get());
    EXPECT_EQ(mask->pattern.row_order, nullptr);
    EXPECT_EQ(mask->pattern.seqlen_q, 4096);
    const auto strided = make("strided:16", 4096, 4096, 0);
    EXPECT_FALSE(strided->passes.empty());
    EXPECT_EQ(strided->in_order, nullptr);
    EXPECT_EQ(&strided->walked(), &strided->pattern);
  }
}

TEST(OrderedPattern, IsNotSplit) {
  EXPECT_TRUE(may_be_split(parse_pattern("nd:64x64:16x16", 4096, 4096)));
  EXPECT_FALSE(may_be_split(*ordered("nd:64x64:16x16", 4096)));
}

TEST(OrderedPattern, JoinsThoseOfItsOrder) {
  const Pattern one = parse_pattern("nd:16x16:5x5", 256, 256);
  const Pattern other = parse_pattern("causal", 256, 256);
  const GridOrder order = {{16, 16, 1}, {3, 3, 0}, {3, 0, 6}};
  const GridOrder halves = {{16, 16, 1}, {3, 3, 0}, {0, 3, 6}};
  const Pattern a = in_order(one, order), b = in_order(other, order);
  const Pattern of_both = both(a, b), of_either = either(a, b);
  for (int row = 0; row < 256; ++row) {
    for (int key = 0; key < 256; ++key) {
      const bool in_a = sees(a, 0, row, key), in_b = sees(b, 0, row, key);
      ASSERT_EQ(sees(of_both, 0, row, key), in_a && in_b);
      ASSERT_EQ(sees(of_either, 0, row, key), in_a || in_b);
    }
  }
  EXPECT_THROW(both(a, in_order(other, halves)), std::invalid_argument);
  EXPECT_THROW(either(a, other), std::invalid_argument);
  EXPECT_THROW(in_order(a, order), std::invalid_argument);
  EXPECT_THROW(in_order(parse_pattern("causal", 255, 255), order), std::invalid_argument);
}

TEST(OrderedPattern, HasBits) {
  const GridOrder order = {{30, 40, 1}, {3, 3, 0}, {3, 0, 6}};
  const Pattern pattern = in_order(parse_pattern("causal-nd:30x40:9x10", 1200, 1200), order);
  const SharedBits bits = bits_of(pattern, 0);
  for (int row = 0; row < pattern.seqlen_q; ++row) {
    for (int key = 0; key < pattern.seqlen_k; ++key) {
      ASSERT_EQ(bits->sees(row, key), sees(pattern, 0, row, key)) << row << " " << key;
    }
  }
}

}  // namespace
}  // namespace sparkbench
