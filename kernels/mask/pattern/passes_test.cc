#include "kernels/mask/pattern/passes.h"

#include <gtest/gtest.h>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

std::vector<int> strides_of(const char* text, int seqlen_q, int seqlen_k) {
  const Pattern pattern = parse_pattern(text, seqlen_q, seqlen_k);
  const Picture want(seqlen_q, seqlen_k,
                     [&](int row, int key) { return sees(pattern, 0, row, key); });
  EXPECT_EQ(passes_differ(pattern, 0, want), "") << text;
  std::vector<int> strides;
  for (const PatternPass& pass : passes_of(pattern, 0)) strides.push_back(pass.stride);
  return strides;
}

TEST(Passes, AreOnePerStride) {
  EXPECT_EQ(strides_of("window:9", 64, 64), std::vector<int>{1});
  EXPECT_EQ(strides_of("strided:8", 64, 64), std::vector<int>{8});
  EXPECT_EQ(strides_of("dilated:3:8", 64, 64), std::vector<int>{8});
  EXPECT_EQ(strides_of("window:9+causal-strided:8", 64, 64), (std::vector<int>{1, 8}));
  EXPECT_EQ(strides_of("causal-dilated:3:8+strided:8", 64, 64), std::vector<int>{8});
  EXPECT_EQ(strides_of("chunk:8+fixed:9:2", 64, 64), std::vector<int>{1});
}

TEST(Passes, ShowLinesThatAreNotWholeOnce) {
  for (int seqlen = 1; seqlen < 40; ++seqlen) {
    for (const char* const text : {"strided:7", "causal-strided:7", "causal-dilated:2:7",
                                   "window:5+causal-strided:7", "band:2:2+dilated:3:7"}) {
      EXPECT_FALSE(strides_of(text, seqlen, seqlen).empty());
    }
  }
}

TEST(Passes, KeepTheOrderOfUnlikeSequences) {
  EXPECT_EQ(strides_of("strided:8", 60, 64), std::vector<int>{1});
  EXPECT_EQ(strides_of("causal-strided:8", 64, 60), std::vector<int>{1});
}

TEST(Passes, AreNoneWithoutAPair) {
  Pattern nothing = empty_pattern(5, 5);
  EXPECT_TRUE(passes_of(nothing, 0).empty());
}

TEST(Passes, MakeStridesDense) {
  const Pattern pattern = parse_pattern("strided:16", 1024, 1024);
  const std::vector<PatternPass> passes = passes_of(pattern, 0);
  ASSERT_EQ(passes.size(), 1u);
  const TilePlan tiles = plan(passes[0].pattern, 0, 64, 64);
  EXPECT_EQ(tiles.full_tiles, 16u);
  EXPECT_EQ(tiles.cut_tiles, 0u);
}

}  // namespace
}  // namespace sparkbench
