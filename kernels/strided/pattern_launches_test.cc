#include "kernels/strided/pattern_launches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sparkbench {
namespace {

Problem problem_of(std::string_view spec, int batch, float dropout_p = 0.0f, int heads = 6) {
  return {.batch = batch,
          .heads = heads,
          .seqlen_q = 390,
          .seqlen_k = 390,
          .head_dim = 8,
          .dropout_p = dropout_p,
          .heads_k = 2,
          .sparse = make_sparse_mask(spec, 390, 390)};
}

/// The token, batch entry and head of a launch's row, by its axes' strides.
struct Row {
  int batch, token, head;
};

Row row_of(const ViewLaunch& launch, int heads, int b, int line, int h) {
  const int residue = launch.axes == ViewAxes::kResiduesAsHeads   ? h / heads
                      : launch.axes == ViewAxes::kResiduesAsBatch ? b
                                                                  : 0;
  return {launch.first_batch + (launch.axes == ViewAxes::kResiduesAsBatch ? 0 : b),
          line * launch.stride + launch.first_token + residue, h % heads};
}

using Form = std::tuple<std::string_view, int, float, TokenHeads>;

class PatternLaunches : public testing::TestWithParam<Form> {};

TEST_P(PatternLaunches, HaveEachRowWhereTheViewAndItsLseHaveIt) {
  const auto [spec, batch, dropout_p, heads] = GetParam();
  const Problem problem = problem_of(spec, batch, dropout_p);
  // With q, k and v in one tensor, a token's heads do not follow those of the token before.
  const int row_elements = problem.head_dim * (heads == TokenHeads::kAdjacent ? 6 : 10);
  const std::vector<Half> tensor(static_cast<std::size_t>(batch * 390 * row_elements));
  const TensorView<const Half> whole{tensor.data(), 390 * row_elements, row_elements,
                                     problem.head_dim};
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    const ViewedRows rows = viewed_rows(problem, pass, heads);
    std::vector<int> seen(problem.lse_elements());
    for (const ViewLaunch& launch : view_launches(problem, pass, heads)) {
      const Problem& of = launch.problem;
      const TensorView<const Half> view = launch.of(whole);
      for (int b = 0; b < of.batch; ++b) {
        for (int h = 0; h < of.heads; ++h) {
          EXPECT_EQ(of.key_head(h) % 2, problem.key_head(h % 6));
          for (int line = 0; line < of.seqlen_q; ++line) {
            const Row row = row_of(launch, 6, b, line, h);
            ASSERT_EQ(view.row(b, line, h), whole.row(row.batch, row.token, row.head));
            ASSERT_EQ(launch.first_lse + lse_offset(b, h, line, of.heads, of.seqlen_q),
                      rows.at(row.batch, row.head, row.token));
            ++seen[lse_offset(row.batch, row.head, row.token, 6, 390)];
          }
        }
      }
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
}

TEST_P(PatternLaunches, HaveTheTilesOfASample) {
  const auto [spec, batch, dropout_p, heads] = GetParam();
  const Problem problem = problem_of(spec, batch, dropout_p);
  const std::vector<SampleTile> sample{{0, 1, batch - 1}, {2, 5, 0}};
  const auto is_sampled = [&](const Row& row) {
    return std::count(sample.begin(), sample.end(),
                      SampleTile{row.token / kSampleRows, row.head, row.batch}) > 0;
  };
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    for (const ViewLaunch& launch : view_launches(problem, pass, heads)) {
      std::vector<SampleTile> want;
      for (int b = 0; b < launch.problem.batch; ++b) {
        for (int h = 0; h < launch.problem.heads; ++h) {
          for (int line = 0; line < launch.problem.seqlen_q; ++line) {
            if (is_sampled(row_of(launch, 6, b, line, h))) {
              want.push_back({line / kSampleRows, h, b});
            }
          }
        }
      }
      std::sort(want.begin(), want.end());
      want.erase(std::unique(want.begin(), want.end()), want.end());
      EXPECT_EQ(launch.tiles_of(sample, 6), want);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , PatternLaunches,
    testing::Combine(testing::Values("strided:4", "window:20+causal-strided:3"),
                     testing::Values(1, 3, 7), testing::Values(0.0f, 0.2f),
                     testing::Values(TokenHeads::kAdjacent, TokenHeads::kAny)));

TEST(PatternLaunchesOfAdjacentHeads, AreOneForEachView) {
  const auto count = [](const Problem& problem, TokenHeads heads) {
    return view_launches(problem, 0, heads).size();
  };
  // 390 tokens are 2 residues of 98 and 2 of 97.
  EXPECT_EQ(count(problem_of("strided:4", 3), TokenHeads::kAdjacent), 2u);
  EXPECT_EQ(count(problem_of("strided:4", 3), TokenHeads::kAny), 6u);
  EXPECT_EQ(count(problem_of("strided:4", 7), TokenHeads::kAdjacent), 2u);
  EXPECT_EQ(count(problem_of("strided:4", 7), TokenHeads::kAny), 4u);
  // With dropout, an entry's 2 residues of 6 heads have 16 sequence numbers, of which 12 are used.
  EXPECT_EQ(count(problem_of("strided:4", 3, 0.2f), TokenHeads::kAdjacent), 6u);
  EXPECT_EQ(count(problem_of("strided:4", 3, 0.2f, 8), TokenHeads::kAdjacent), 2u);
  // A grid has no more heads than 65,535.
  EXPECT_EQ(count(problem_of("strided:4", 3, 0.0f, 16384), TokenHeads::kAdjacent), 6u);
}

TEST(TokenHeadsOfTensors, AreAdjacentInContiguousOnes) {
  const Problem problem = problem_of("strided:4", 2);
  ForwardTensors tensors = contiguous_tensors(problem, nullptr, nullptr, nullptr, nullptr, nullptr);
  EXPECT_EQ(token_heads(problem, tensors), TokenHeads::kAdjacent);
  for (TensorView<const Bits16>* const view : {&tensors.q, &tensors.k, &tensors.v}) {
    const TensorView<const Bits16> before = *view;
    view->seqlen_stride += 8;
    EXPECT_EQ(token_heads(problem, tensors), TokenHeads::kAny);
    *view = before;
  }
  std::swap(tensors.o.seqlen_stride, tensors.o.head_stride);
  EXPECT_EQ(token_heads(problem, tensors), TokenHeads::kAny);
}

}  // namespace
}  // namespace sparkbench
