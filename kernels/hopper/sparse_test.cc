// Patterns in the Hopper kernels on the emulated H100: by masks that kernels without lists know,
// and by the definition of a pattern in FP64.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_problems.h"
#include "kernels/testing/test_sparse_checks.h"

namespace sparkbench {
namespace {

constexpr std::string_view kKernel = "hopper-fp32acc";

/// Above 128 columns, whose kernels without lists have tiles of 64 keys, too.
TEST(HopperPattern, OfOneRunHasTheDenseKernelsBits) {
  for (const MaskSpec& mask : kMaskOfEachKind) {
    const float dropout_p = mask == MaskSpec::causal() ? 0.0f : 0.17f;
    SCOPED_TRACE(testing::Message() << name_of(mask) << ", " << dropout_p);
    const Problem problem{.heads = 2,
                          .seqlen_q = 290,
                          .seqlen_k = 177,
                          .head_dim = 256,
                          .mask = mask,
                          .dropout_p = dropout_p,
                          .seed = 11,
                          .heads_k = 1};
    const Passes want = run(PatternRun(kKernel, problem), true);
    const Passes got = run(PatternRun(kKernel, with_pattern(problem, name_of(mask))), true);
    EXPECT_TRUE(same_bits(want.o, got.o));
    EXPECT_TRUE(same_bits(want.lse, got.lse));
  }
}

TEST(HopperPatterns, DrawnAtRandomAreAsTheirPictures) {
  Random random(20);
  for (int i = 0; i < (is_nightly() ? 500 : 8); ++i) {
    const RandomPattern drawn = random_pattern(random, 300);
    const Problem problem{.heads = 2,
                          .head_dim = draw(random, 1, 32) * 8,
                          .dropout_p = i % 2 == 0 ? 0.0f : 0.2f,
                          .softmax_scale = 0.02f,
                          .seed = static_cast<std::uint64_t>(i),
                          .heads_k = draw(random, 1, 2)};
    SCOPED_TRACE(testing::Message()
                 << i << ": " << drawn.name << ", head_dim " << problem.head_dim);
    expect_as_by_pictures(kKernel, with_pattern(problem, drawn), drawn.of_unions, false);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// In passes over residues, in an order of a grid, and in parts of long blocks.
TEST(HopperPatterns, AreAsTheirPicturesHoweverTheyAreWalked) {
  for (const auto& [spec, seqlen] : {std::pair{"causal-strided:3", 300},
                                     {"window:40+causal-strided:8", 300},
                                     {"window:10+causal-strided:3", 300},
                                     {"causal-dilated:90:3", 300},
                                     {"nd:20x18:5x5", 360},
                                     {"nd:5x8x8:3x4x6", 320},
                                     {"longformer:16:4/window:40+sink:3", 2430}}) {
    SCOPED_TRACE(spec);
    const Problem problem = with_pattern({.heads = 2,
                                          .seqlen_q = seqlen,
                                          .seqlen_k = seqlen,
                                          .head_dim = 64,
                                          .dropout_p = 0.2f,
                                          .softmax_scale = 0.02f,
                                          .seed = 6,
                                          .heads_k = 1},
                                         spec);
    std::vector<Picture> pictures;
    for (int head = 0; head < 2; ++head) {
      pictures.emplace_back(seqlen, seqlen, [&](int row, int key) {
        return sees(problem.sparse->pattern, head, row, key);
      });
    }
    expect_as_by_pictures(kKernel, problem, pictures, false);
  }
}

}  // namespace
}  // namespace sparkbench
