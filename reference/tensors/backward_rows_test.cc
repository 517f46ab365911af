#include "reference/tensors/backward_rows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace sparkbench {
namespace {

const Problem kProblem{/*batch=*/2, /*heads=*/3, /*seqlen_q=*/5, /*seqlen_k=*/4,
                       /*head_dim=*/2};

TEST(GradientRows, AreAllRows) {
  const GradientRows all = all_gradient_rows(kProblem);
  EXPECT_EQ(all.dq.size(), 30u);
  EXPECT_EQ(all.dkv.size(), 24u);
}

TEST(GatherGradients, TakesRowsOutOfTheInterleavedLayout) {
  std::vector<Half> dq(kProblem.q_elements()), dk(kProblem.k_elements()), dv(dk.size());
  for (std::size_t i = 0; i < dq.size(); ++i) dq[i].bits = static_cast<std::uint16_t>(i);
  for (std::size_t i = 0; i < dk.size(); ++i) {
    dk[i].bits = static_cast<std::uint16_t>(1000 + i);
    dv[i].bits = static_cast<std::uint16_t>(2000 + i);
  }
  const auto gathered = gather_gradients(kProblem, {dq, dk, dv}, {{{0, 1, 4}}, {{1, 2, 3}}});
  // Element (b, s, h, d) is at ((b * seqlen + s) * 3 + h) * 2 + d.
  ASSERT_EQ(gathered.dq.size(), 2u);
  EXPECT_EQ(gathered.dq[0].bits, 26);
  EXPECT_EQ(gathered.dk[1].bits, 1000 + 47);
  EXPECT_EQ(gathered.dv[0].bits, 2000 + 46);
  EXPECT_THROW(gather_gradients(kProblem, {dk, dk, dv}, {}), std::invalid_argument);
}

TEST(QueriesNeededBy, AreAllOfAnAskedKeysHead) {
  const GradientRows rows = {{{0, 1, 4}, {1, 0, 2}, {1, 2, 0}}, {{1, 0, 0}, {1, 0, 3}}};
  const std::vector<QueryRow> want = {{0, 1, 4}, {1, 0, 0}, {1, 0, 1}, {1, 0, 2},
                                      {1, 0, 3}, {1, 0, 4}, {1, 2, 0}};
  EXPECT_EQ(queries_needed_by(kProblem, rows), want);
}

TEST(ForEachRun, VisitsEveryRowOfBothKinds) {
  std::atomic<int> queries = 0, keys = 0;
  struct Visit {
    std::atomic<int>&queries, &keys;
    void operator()(std::span<const QueryRow> run) { queries += static_cast<int>(run.size()); }
    void operator()(std::span<const KeyRow> run) { keys += static_cast<int>(run.size()); }
  };
  for_each_run(all_gradient_rows(kProblem), 2, Visit{queries, keys});
  EXPECT_EQ(queries, 30);
  EXPECT_EQ(keys, 24);
}

TEST(CheckBackward, NamesWhatIsWrong) {
  const std::vector<Half> q(kProblem.q_elements()), k(kProblem.k_elements());
  const std::vector<float> lse(kProblem.lse_elements());
  const GradientRows rows = all_gradient_rows(kProblem);
  EXPECT_NO_THROW(check_backward(kProblem, {q, k, k, q}, rows));
  EXPECT_NO_THROW(check_backward(kProblem, {q, k, k, q, q, lse}, rows));
  EXPECT_THROW(check_backward(kProblem, {q, k, k, k}, rows), std::invalid_argument);
  EXPECT_THROW(check_backward(kProblem, {q, k, k, q, q, {}}, rows), std::invalid_argument);
  EXPECT_THROW(check_backward(kProblem, {q, k, k, q, k, lse}, rows), std::invalid_argument);
  EXPECT_THROW(check_backward(kProblem, {q, k, k, q}, {{}, {{0, 0, 4}}}), std::invalid_argument);
  EXPECT_THROW(check_backward(kProblem, {q, k, k, q}, {{{0, 0, 5}}, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
