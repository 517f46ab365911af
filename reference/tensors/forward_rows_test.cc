#include "reference/tensors/forward_rows.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace sparkbench {
namespace {

Problem two_by_three_heads() {
  Problem problem;
  problem.batch = 2;
  problem.heads = 3;
  problem.seqlen_q = 5;
  problem.seqlen_k = 4;
  problem.head_dim = 2;
  return problem;
}

TEST(AllRows, FollowTheOrderOfLse) {
  const Problem problem = two_by_three_heads();
  const auto rows = all_rows(problem);
  ASSERT_EQ(rows.size(), problem.lse_elements());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].lse_index(problem), i);
  EXPECT_EQ(rows[17], (QueryRow{1, 0, 2}));
}

TEST(GatherRows, TakesRowsOutOfTheInterleavedLayout) {
  const Problem problem = two_by_three_heads();
  std::vector<Half> o(problem.q_elements());
  for (std::size_t i = 0; i < o.size(); ++i) o[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> lse(problem.lse_elements());
  for (std::size_t i = 0; i < lse.size(); ++i) lse[i] = static_cast<float>(i);
  const std::vector<QueryRow> rows = {{0, 1, 4}, {1, 2, 3}};
  const ForwardRows gathered = gather_rows(problem, o, lse, rows);
  // Element (b, s, h, d) is at ((b * 5 + s) * 3 + h) * 2 + d.
  EXPECT_EQ(gathered.o[0].bits, 26);
  EXPECT_EQ(gathered.o[1].bits, 27);
  EXPECT_EQ(gathered.o[2].bits, 52);
  EXPECT_EQ(gathered.lse, (std::vector<float>{9.0f, 28.0f}));
}

TEST(CheckForward, NamesWhatIsWrong) {
  const Problem problem = two_by_three_heads();
  const std::vector<Half> q(problem.q_elements()), k(problem.k_elements());
  const std::vector<QueryRow> rows = {{0, 0, 0}, {1, 2, 4}};
  EXPECT_NO_THROW(check_forward(problem, {q, k, k}, rows));
  EXPECT_THROW(check_forward(problem, {q, q, k}, rows), std::invalid_argument);
  EXPECT_THROW(check_forward(problem, {q, k, k}, std::vector<QueryRow>{{0, 3, 0}}),
               std::invalid_argument);
  EXPECT_THROW(check_forward(problem, {q, k, k}, std::vector<QueryRow>{{0, 1, 0}, {0, 1, 0}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
