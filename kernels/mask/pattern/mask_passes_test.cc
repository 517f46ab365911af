#include "kernels/mask/pattern/mask_passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/mask/key_mask.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

/// Whether a line of a view sees a key, by a pattern or by a dense mask.
bool line_sees(const ResidueView& view, int row, int key) {
  if (view.sparse) return sees(view.sparse->pattern, 0, row, key);
  return make_key_mask(view.dense, view.lines, view.lines).sees(row, key);
}

/// How often the passes show each pair of tokens.
std::vector<int> shown(const std::vector<MaskPass>& passes, int seqlen) {
  std::vector<int> times(static_cast<std::size_t>(seqlen) * static_cast<std::size_t>(seqlen));
  for (const MaskPass& pass : passes) {
    for (const ResidueView& view : pass.views) {
      for (int i = 0; i < view.residues; ++i) {
        const int residue = view.first_residue + i;
        for (int row = 0; row < view.lines; ++row) {
          for (int key = 0; key < view.lines; ++key) {
            const int q = row * pass.stride + residue, k = key * pass.stride + residue;
            EXPECT_LT(std::max(q, k), seqlen);
            times[static_cast<std::size_t>(q) * static_cast<std::size_t>(seqlen) +
                  static_cast<std::size_t>(k)] += line_sees(view, row, key);
          }
        }
      }
    }
  }
  return times;
}

void expect_each_pair_once(const char* text, int seqlen) {
  SCOPED_TRACE(testing::Message() << text << " of " << seqlen);
  const auto mask = make_sparse_mask(text, seqlen, seqlen);
  ASSERT_FALSE(mask->passes.empty());
  const std::vector<int> times = shown(mask->passes, seqlen);
  for (int row = 0; row < seqlen; ++row) {
    for (int key = 0; key < seqlen; ++key) {
      ASSERT_EQ(times[static_cast<std::size_t>(row) * static_cast<std::size_t>(seqlen) +
                      static_cast<std::size_t>(key)],
                sees(mask->pattern, 0, row, key) ? 1 : 0)
          << row << ", " << key;
    }
  }
}

TEST(MaskPasses, ShowEachPairOnce) {
  for (const char* const text :
       {"strided:4", "causal-strided:4", "dilated:60:4", "causal-dilated:100:4",
        "window:20+causal-strided:4", "band:3:5+strided:4", "window:20+causal-dilated:100:4",
        "band:3:5+dilated:100:4", "causal-strided:4+window:1"}) {
    for (const int seqlen : {512, 515, 600}) expect_each_pair_once(text, seqlen);
  }
}

TEST(MaskPasses, HaveLongResiduesOfOneRunDense) {
  const auto mask = make_sparse_mask("causal-strided:4", 517, 517);
  ASSERT_EQ(mask->passes.size(), 1u);
  const MaskPass& pass = mask->passes.front();
  EXPECT_EQ(pass.stride, 4);
  ASSERT_EQ(pass.views.size(), 2u);
  EXPECT_EQ(pass.views[0].residues, 1);
  EXPECT_EQ(pass.views[0].lines, 130);
  EXPECT_EQ(pass.views[1].first_residue, 1);
  EXPECT_EQ(pass.views[1].residues, 3);
  EXPECT_EQ(pass.views[1].lines, 129);
  for (const ResidueView& view : pass.views) {
    EXPECT_EQ(view.sparse, nullptr);
    EXPECT_EQ(view.dense, MaskSpec::causal());
  }
  EXPECT_EQ(make_sparse_mask("strided:4", 512, 512)->passes[0].views[0].dense, MaskSpec::full());
  EXPECT_NE(make_sparse_mask("strided:8", 512, 512)->passes[0].views[0].sparse, nullptr);
}

TEST(MaskPasses, HaveBandsOfOneRunDense) {
  const auto dense_of = [](const char* text) {
    std::vector<MaskSpec> dense;
    const auto mask = make_sparse_mask(text, 512, 512);
    for (const MaskPass& pass : mask->passes) {
      EXPECT_EQ(pass.views.size(), 1u);
      EXPECT_EQ(pass.views[0].sparse, nullptr) << text;
      dense.push_back(pass.views[0].dense);
    }
    return dense;
  };
  using Masks = std::vector<MaskSpec>;
  EXPECT_EQ(dense_of("dilated:60:4"), (Masks{MaskSpec::band(60, 60)}));
  EXPECT_EQ(dense_of("causal-dilated:100:4"), (Masks{MaskSpec::window(101)}));
  EXPECT_EQ(dense_of("dilated:1000:4"), (Masks{MaskSpec::full()}));
  // A residue sees what the window leaves of it: keys before its own except the nearest four.
  EXPECT_EQ(dense_of("window:20+causal-strided:4"),
            (Masks{MaskSpec::window(20), MaskSpec::band(128, -5)}));
  EXPECT_EQ(dense_of("band:3:5+causal-dilated:60:4"),
            (Masks{MaskSpec::band(3, 5), MaskSpec::band(60, -1)}));
}

TEST(MaskPasses, AreNoneWhereTheOrderOfTheSequenceIsBest) {
  const auto count = [](const char* text, int seqlen_q, int seqlen_k) {
    return make_sparse_mask(text, seqlen_q, seqlen_k)->passes.size();
  };
  EXPECT_EQ(count("longformer:16:4", 512, 512), 0u);
  EXPECT_EQ(count("strided:16", 512, 500), 0u);     // lengths differ
  EXPECT_EQ(count("strided:16", 512, 512), 0u);     // three quarters of a block are empty
  EXPECT_EQ(count("strided:128", 4096, 4096), 1u);  // equally short, but there are fewer tiles
  EXPECT_EQ(count("strided:8", 512, 512), 1u);
  EXPECT_EQ(count("strided:16/window:9", 512, 512), 0u);  // heads differ
  // After the sink, a stride begins at a different line for each residue.
  EXPECT_EQ(count("sink:4+causal-strided:4", 512, 512), 0u);
  // Zones cannot separate two strides.
  EXPECT_EQ(count("strided:4+causal-dilated:30:3", 512, 512), 0u);
}

}  // namespace
}  // namespace sparkbench
