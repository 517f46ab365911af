// Patterns in the Volta kernels on the emulated V100: by masks that kernels without lists know, and
// by the definition of a pattern in FP64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_problems.h"
#include "kernels/testing/test_sparse_checks.h"

namespace sparkbench {
namespace {

constexpr std::string_view kSparseKernels[] = {"volta-fp32acc", "volta-fp16acc"};
/// As many as are drawn at random.
const int kRandomPatterns = is_nightly() ? 500 : 8;

class VoltaPattern : public testing::TestWithParam<int> {};

/// For a mask with one key interval per row, lists have the tiles that a dense kernel visits.
TEST_P(VoltaPattern, OfOneRunHasTheDenseKernelsBits) {
  const auto of_head_dim = static_cast<std::size_t>(GetParam()) / 64;
  for (std::size_t i = 0; i < std::size(kSparseKernels); ++i) {
    for (std::size_t m = 0; m < std::size(kMaskOfEachKind); ++m) {
      if (!is_tried(of_head_dim + i + m, 2)) continue;
      const std::string_view kernel = kSparseKernels[i];
      const MaskSpec& mask = kMaskOfEachKind[m];
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

TEST(VoltaPatterns, DrawnAtRandomAreAsTheirPictures) {
  Random random(20);
  for (int i = 0; i < kRandomPatterns; ++i) {
    const RandomPattern drawn = random_pattern(random, 300);
    Problem problem{.heads = 2,
                    .head_dim = draw(random, 1, 32) * 8,
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

TEST(VoltaPatterns, DrawnAtRandomAreSoWithFp16Scores) {
  Random random(21);
  for (int i = 0; i < kRandomPatterns; ++i) {
    const RandomPattern drawn = random_pattern(random, 300);
    const Problem problem{.heads = 2,
                          .head_dim = draw(random, 1, 32) * 8,
                          .dropout_p = i % 2 == 0 ? 0.0f : 0.2f,
                          .softmax_scale = 0.005f,
                          .seed = static_cast<std::uint64_t>(i),
                          .heads_k = draw(random, 1, 2)};
    SCOPED_TRACE(testing::Message()
                 << i << ": " << drawn.name << ", head_dim " << problem.head_dim);
    expect_as_by_pictures("volta-fp16acc", with_pattern(problem, drawn), drawn.of_unions, true);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Rows that see all and keys that all see are more than one block's work.
constexpr std::string_view kSplitPattern = "longformer:16:4/window:40+sink:3";
constexpr int kSplitSeqlen = 2430;

Problem split_problem(int head_dim, float dropout_p) {
  return with_pattern({.heads = 2,
                       .seqlen_q = kSplitSeqlen,
                       .seqlen_k = kSplitSeqlen,
                       .head_dim = head_dim,
                       .dropout_p = dropout_p,
                       .softmax_scale = 0.02f,
                       .seed = 6,
                       .heads_k = 1},
                      kSplitPattern);
}

TEST(VoltaSplitBlocks, AreThePatternByItsDefinition) {
  std::size_t cell = 0;
  for (const auto& [head_dim, dropout_p] :
       with_nightly<std::pair<int, float>>({{64, 0.0f}, {128, 0.2f}}, {{40, 0.2f}, {160, 0.2f}})) {
    ++cell;  // deterministic or not, the next the other way round
    for (const bool is_deterministic : {false, true}) {
      if (!is_tried(cell++, 2)) continue;
      SCOPED_TRACE(testing::Message() << "head_dim " << head_dim << ", dropout " << dropout_p
                                      << (is_deterministic ? ", deterministic" : ""));
      const Problem problem = split_problem(head_dim, dropout_p);
      const PatternLists lists = sparse_lists(PatternRun("volta-fp32acc", problem).kernel(),
                                              problem, Pass::kBackward, is_deterministic);
      for (int i = 0; i < lists.size(); ++i) ASSERT_GT(lists[i].part_rows(), 0);
      expect_as_by_pictures("volta-fp32acc", problem, pictures_of(problem), is_deterministic);
    }
  }
}

TEST(VoltaSplitBlocks, AreSoWithSumsInFp16) {
  for (const auto& [head_dim, dropout_p] :
       with_nightly<std::pair<int, float>>({{128, 0.2f}}, {{64, 0.0f}})) {
    SCOPED_TRACE(head_dim);
    Problem problem = split_problem(head_dim, dropout_p);
    problem.softmax_scale = 0.005f;
    expect_as_by_pictures("volta-fp16acc", problem, pictures_of(problem), false);
  }
}

/// In whatever order blocks and warps run.
TEST(VoltaSplitBlocks, HaveTheSameBitsEachTime) {
  for (const std::string_view kernel : kSparseKernels) {
    const PatternRun made(kernel, split_problem(64, 0.1f));
    const Passes once = run(made, true, 1), again = run(made, true, 2);
    EXPECT_TRUE(same_bits(once.o, again.o));
    EXPECT_TRUE(same_bits(once.lse, again.lse));
    EXPECT_TRUE(same_bits(once.dq, again.dq));
    EXPECT_TRUE(same_bits(once.dk, again.dk));
    EXPECT_TRUE(same_bits(once.dv, again.dv));
  }
}

/// However a pattern is said.
TEST(VoltaSplitBlocks, OfAnExpressionHaveTheBitsOfZones) {
  Problem zones = split_problem(64, 0.1f);
  zones.sparse = make_sparse_mask("longformer:16:4", kSplitSeqlen, kSplitSeqlen);
  Problem expression = zones;
  expression.sparse = make_sparse_mask("where:q<4||k<4||abs(q-k)<=16", kSplitSeqlen, kSplitSeqlen);
  const PatternRun of_zones("volta-fp32acc", zones), of_expression("volta-fp32acc", expression);
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    EXPECT_EQ(workspace_bytes(of_zones.kernel(), zones, pass, true),
              workspace_bytes(of_zones.kernel(), expression, pass, true));
  }
  const Passes a = run(of_zones, true), b = run(of_expression, true);
  EXPECT_TRUE(same_bits(a.o, b.o));
  EXPECT_TRUE(same_bits(a.lse, b.lse));
  EXPECT_TRUE(same_bits(a.dq, b.dq));
  EXPECT_TRUE(same_bits(a.dk, b.dk));
  EXPECT_TRUE(same_bits(a.dv, b.dv));
}

/// Each row of a sample has the bits of the whole.
TEST(VoltaSplitBlocks, OfASampleAreThoseOfTheWhole) {
  const Problem problem = split_problem(64, 0.0f);
  const PatternRun made("volta-fp32acc", problem);
  const Passes whole = run(made, true);
  const EmulationOptions options{.profile = &arithmetic_profile("volta")};
  const std::size_t row = std::size_t{2} * 64;  // of two heads
  for (const int tile : {0, 3}) {
    Passes part = whole;
    std::fill(part.o.begin(), part.o.end(), Half{});
    std::fill(part.lse.begin(), part.lse.end(), 0.0f);
    expect_clean(
        emulate_forward(made.kernel(), problem, made.forward(part), options, {{{tile, 1, 0}}}));
    const std::size_t first = static_cast<std::size_t>(tile) * kSampleRows * row + 64;
    EXPECT_EQ(std::memcmp(&part.o[first], &whole.o[first], 64 * sizeof(Half)), 0);
    const std::size_t lse = kSplitSeqlen + static_cast<std::size_t>(tile) * kSampleRows;
    EXPECT_EQ(std::memcmp(&part.lse[lse], &whole.lse[lse], kSampleRows * sizeof(float)), 0);
    part = whole;
    std::fill(part.dq.begin(), part.dq.end(), Half{});
    std::fill(part.dk.begin(), part.dk.end(), Half{});
    expect_clean(emulate_backward(made.kernel(), problem, made.backward(part), options, true,
                                  {{{tile, 1, 0}}, {{tile, 0, 0}}}));
    EXPECT_EQ(std::memcmp(&part.dq[first], &whole.dq[first], 64 * sizeof(Half)), 0);
    const std::size_t key = static_cast<std::size_t>(tile) * kSampleRows * 64;
    EXPECT_EQ(std::memcmp(&part.dk[key], &whole.dk[key], kSampleRows * 64 * sizeof(Half)), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(, VoltaPattern,
                         testing::ValuesIn(with_nightly<int>({64, 128, 256}, {200})),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace sparkbench
