// plan() writes lines of spans; run by run they must be the same spans.
#include "kernels/mask/pattern/enumerated_plan.h"

#include <gtest/gtest.h>

#include "kernels/mask/pattern/disjoint.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/testing/nightly.h"

namespace sparkbench {
namespace {

constexpr int kTileRows[] = {1, 16, 32, 64, 128, 7, 50};
constexpr int kTileKeys[] = {1, 16, 64, 128, 32, 5, 48};

void expect_same(const TilePlan& found, const TilePlan& wanted) {
  EXPECT_EQ(found.first_spans, wanted.first_spans);
  EXPECT_TRUE(found.spans == wanted.spans);
  EXPECT_EQ(found.full_tiles, wanted.full_tiles);
  EXPECT_EQ(found.cut_tiles, wanted.cut_tiles);
}

void check(const Pattern& pattern) {
  for (std::size_t i = 0; i < pattern.unions.size(); ++i) {
    const int head = static_cast<int>(i);
    if (!enumerated::can_be_enumerated(pattern, head)) continue;
    for (const int rows : kTileRows) {
      for (const int keys : kTileKeys) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(keys));
        expect_same(plan(pattern, head, rows, keys),
                    enumerated::enumerated_plan(pattern, head, rows, keys));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Checks its transpose and its disjoint terms, too.
void check_kin(const Pattern& pattern, const std::string& name) {
  if (testing::Test::HasFailure()) return;
  SCOPED_TRACE(name);
  check(pattern);
  check(transposed(pattern));
  check(disjoint(pattern));
}

constexpr const char* kGrids[] = {"nd:32x48:9x13",
                                  "causal-nd:24x64:5x64",
                                  "nd:17x70:8x8+window:40",
                                  "nd:64x24:3x24+nd:64x24:9x5",
                                  "causal-nd:24x64:5x9+sink:70",
                                  "nd:8x13x20:3x5x9",
                                  "causal-nd:12x8x16:5x3x4+nd:12x8x16:12x1x16",
                                  "nd:5x4x64:3x4x20+longformer:9:70"};

int tokens_of(const std::string& mask) {
  const PatternSpec spec = parse_pattern_spec(mask);
  int tokens = 1;
  for (const auto extent : spec.unions[0][0].fields[0]) tokens *= static_cast<int>(extent);
  return tokens;
}

TEST(EnumeratedPlan, IsThatOfGridsRowByRow) {
  for (const std::string mask : kGrids) {
    const int tokens = tokens_of(mask);
    check_kin(parse_pattern(mask, tokens, tokens), mask);
  }
}

TEST(EnumeratedPlan, IsThatOfStridesAndSummaries) {
  for (const char* const mask :
       {"fixed:64:9", "fixed:128:128", "strided:64+window:100", "causal-strided:50", "dilated:9:64",
        "fixed:100:10+longformer:64:100", "strided:128+dilated:3:128",
        "blocked:128+fixed:256:32"}) {
    check_kin(parse_pattern(mask, 1024, 1024), mask);
    check_kin(parse_pattern(mask, 700, 1030), mask);
  }
}

TEST(EnumeratedPlan, IsThatOfRandomPatterns) {
  for (unsigned seed = 0; seed < (is_nightly() ? 100 : 20); ++seed) {
    Random random(seed);
    check_kin(random_pattern(random, 300).pattern, "seed " + std::to_string(seed));
    check_kin(random_grid_pattern(random, 600).pattern, "grid, seed " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace sparkbench
