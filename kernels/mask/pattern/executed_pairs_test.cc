// How many pairs tensor cores compute for each useful one. The figures were counted independently
// of this code. Those of windows follow by hand: a window of w keys on the grid of tiles costs w +
// max(rows, keys) per row.
#include <gtest/gtest.h>

#include <iterator>

#include "kernels/mask/pattern/passes.h"
#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {
namespace {

constexpr int k4k = 4096, k16k = 16384, k64k = 65536;

struct Tile {
  int rows, keys;
};
/// Whole tiles, the parts that a warp of Volta's forward kernels skips of a pattern, and smaller
/// parts.
constexpr Tile kTiles[] = {{64, 64}, {128, 64}, {128, 128}, {32, 32}, {32, 16}};

/// Executed over useful pairs in each tile, and by how much the published figure is rounded.
struct Case {
  const char* mask;
  int seqlen;
  double ratios[5];
  double rounding = 0.005;
};

void expect_near(const Case& wanted, const std::vector<PatternPass>& passes) {
  const Pattern pattern = parse_pattern(wanted.mask, wanted.seqlen, wanted.seqlen);
  const auto useful = static_cast<double>(visible_pairs(pattern, 0));
  for (std::size_t i = 0; i < std::size(kTiles); ++i) {
    std::uint64_t executed = 0;
    for (const PatternPass& pass : passes) {
      executed += plan(pass.pattern, 0, kTiles[i].rows, kTiles[i].keys).executed_pairs();
    }
    EXPECT_NEAR(static_cast<double>(executed) / useful, wanted.ratios[i],
                wanted.rounding * (wanted.ratios[i] < 10.0 ? 1.0 : 10.0))
        << wanted.mask << ", seqlen " << wanted.seqlen << ", " << kTiles[i].rows << " x "
        << kTiles[i].keys;
  }
}

Pattern pattern_of(const Case& wanted) {
  return parse_pattern(wanted.mask, wanted.seqlen, wanted.seqlen);
}

TEST(ExecutedPairs, AreAsCountedInOrderOfSequence) {
  const Case cases[] = {
      {"window:128", k4k, {1.50, 2.00, 2.00, 1.25, 1.25}},
      {"window:128", k64k, {1.50, 2.00, 2.00, 1.25, 1.25}},
      {"window:256", k16k, {1.25, 1.50, 1.50, 1.125, 1.125}},
      {"window:1024", k16k, {1.06, 1.12, 1.12, 1.03, 1.03}, 0.0051},
      {"band:128:128", k16k, {1.24, 1.49, 1.49, 1.12, 1.12}},
      {"band:256:256", k64k, {1.12, 1.25, 1.25, 1.06, 1.06}},
      {"band:1024:1024", k16k, {1.03, 1.06, 1.06, 1.015, 1.015}},
      {"blocked:128", k4k, {1, 1, 1, 1, 1}, 0.0},
      {"blocked:256", k16k, {1, 1, 1, 1, 1}, 0.0},
      {"blocked:1024", k16k, {1, 1, 1, 1, 1}, 0.0},
      {"strided:128", k4k, {64, 128, 128, 32, 32}, 0.0},
      {"dilated:128:4", k16k, {4.2, 4.5, 4.5, 4.1, 4.1}, 0.05},
      {"longformer:256:16", k16k, {1.29, 1.52, 1.64, 1.115, 1.09}, 0.0051},
      {"sink:4+window:128", k16k, {1.94, 2.42, 2.90, 1.45, 1.33}},
      {"fixed:256:32", k16k, {1.9, 1.94, 3.7, 1.01, 1.01}, 0.02},
      {"nd:256x256:80x80", k64k, {2.0, 2.4, 3.2, 1.7, 1.4}, 0.0005},
      {"nd:30x48x80:18x24x24", 115200, {3.4, 3.4, 3.4, 3.07, 2.4}, 0.05},
  };
  for (const Case& one : cases) expect_near(one, {{1, 0, pattern_of(one)}});
}

/// Kernels for dense masks skip whole tiles of 64 keys that none of a warp's 32 rows sees.
/// Block-sparse kernels, which skip halves, run the same pairs as a pattern.
TEST(ExecutedPairs, OfWindowsAreFewerAsAPattern) {
  const auto ratio = [](const Pattern& pattern, const Tile& tile) {
    return static_cast<double>(plan(pattern, 0, tile.rows, tile.keys).executed_pairs()) /
           static_cast<double>(visible_pairs(pattern, 0));
  };
  const Pattern narrow = parse_pattern("causal-band:127:0", k16k, k16k);
  const Pattern wide = parse_pattern("causal-band:1023:0", k16k, k16k);
  EXPECT_FALSE(mask_spec_of(parse_pattern_spec("causal-band:127:0")));
  EXPECT_EQ(visible_pairs(narrow, 0), visible_pairs(parse_pattern("window:128", k16k, k16k), 0));
  EXPECT_NEAR(ratio(narrow, {32, 64}), 1.50, 0.005);
  EXPECT_LT(ratio(narrow, {32, 32}), 1.30);
  EXPECT_LT(ratio(wide, {32, 64}), 1.07);
  EXPECT_LT(ratio(wide, {32, 32}), 1.07);
}

TEST(ExecutedPairs, AreAsCountedInOrderOfResidues) {
  const Case cases[] = {
      {"strided:128", k4k, {2, 4, 4, 1, 1}, 0.0},
      {"strided:128", k16k, {1, 1, 1, 1, 1}, 0.0},
      {"strided:128", k64k, {1, 1, 1, 1, 1}, 0.0},
      {"causal-strided:128", k4k, {3.9, 7.8, 7.8, 1.9, 1.9}, 0.05},
      {"causal-strided:128", k16k, {1.5, 2.0, 2.0, 1.2, 1.2}, 0.05},
      {"causal-strided:128", k64k, {1.1, 1.2, 1.2, 1.1, 1.1}, 0.05},
      {"dilated:128:4", k16k, {1.24, 1.49, 1.49, 1.12, 1.12}},
  };
  for (const Case& one : cases) expect_near(one, passes_of(pattern_of(one), 0));
}

TEST(ExecutedPairs, CountBackwardAsForward) {
  for (const char* const mask : {"window:128", "band:256:256", "blocked:128"}) {
    const Pattern pattern = parse_pattern(mask, k4k, k4k);
    EXPECT_EQ(plan(pattern, 0, 64, 64).executed_pairs(),
              plan(transposed(pattern), 0, 64, 64).executed_pairs())
        << mask;
  }
}

}  // namespace
}  // namespace sparkbench
