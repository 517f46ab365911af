// Patterns in the Volta kernels on the emulated V100: by masks that kernels without lists know, and
// by the definition of a pattern in FP64.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/volta/test_problems.h"
#include "kernels/volta/test_sparse_checks.h"

namespace sparkbench {
namespace {

constexpr std::string_view kKernels[] = {"volta-fp32acc", "volta-fp16acc"};

class VoltaPattern : public testing::TestWithParam<int> {};

/// The lists of a mask of one run a row are those tiles which a kernel without lists visits.
TEST_P(VoltaPattern, OfOneRunHasTheDenseKernelsBits) {
  for (const std::string_view kernel : kKernels) {
    for (const MaskSpec& mask : kMaskOfEachKind) {
      const float dropout_p = mask == MaskSpec::causal() ? 0.0f : 0.17f;
      SCOPED_TRACE(testing::Message() << kernel << ", " << name_of(mask) << ", " << dropout_p);
      const Problem problem{.batch = 1,
                            .heads = 2,
                            .seqlen_q = 290,
                            .seqlen_k = 177,
                            .head_dim = GetParam(),
                            .mask = mask,
                            .dropout_p = dropout_p,
                            .seed = 11,
                            .heads_k = 1};
      const Passes want = run(PatternRun(kernel, problem), true);
      const Passes got = run(PatternRun(kernel, with_pattern(problem, name_of(mask))), true);
      EXPECT_TRUE(same_bits(want.o, got.o));
      EXPECT_TRUE(same_bits(want.lse, got.lse));
      EXPECT_TRUE(same_bits(want.dq, got.dq));
      EXPECT_TRUE(same_bits(want.dk, got.dk));
      EXPECT_TRUE(same_bits(want.dv, got.dv));
    }
  }
}

/// SPARKBENCH_PATTERNS says how many: a few, unless all of them are asked for.
int patterns_to_try() {
  const char* const text = std::getenv("SPARKBENCH_PATTERNS");
  return text != nullptr ? std::atoi(text) : 16;
}

TEST(VoltaPatterns, DrawnAtRandomAreAsTheirPictures) {
  Random random(20);
  for (int i = 0; i < patterns_to_try(); ++i) {
    const RandomPattern drawn = random_pattern(random, 300);
    Problem problem{.heads = 2,
                    .head_dim = draw(random, 1, 16) * 8,
                    .dropout_p = i % 2 == 0 ? 0.0f : 0.2f,
                    .softmax_scale = 0.02f,
                    .seed = static_cast<std::uint64_t>(i),
                    .heads_k = draw(random, 1, 2)};
    const bool is_deterministic = i % 4 < 2;
    SCOPED_TRACE(testing::Message() << i << ": " << drawn.name << ", head_dim " << problem.head_dim
                                    << (is_deterministic ? ", deterministic" : ""));
    expect_as_by_pictures("volta-fp32acc", with_pattern(problem, drawn), drawn.of_unions,
                          is_deterministic);
    if (testing::Test::HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, VoltaPattern, testing::Values(64, 128),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace sparkbench
