// Grouped-query attention in the references: a hand-computed case, and the same problem with keys
// and values repeated for each head.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/mask/test_masks.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/exact/test_values.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

/// The queries of the first cases of exact_test.cc and exact_backward_test.cc, each as its own
/// head: the same rows, and the same sums over them.
TEST(GroupedHeads, TwoHeadsOfOneKeyHeadByHand) {
  Problem problem{.heads = 2, .seqlen_q = 1, .seqlen_k = 2, .head_dim = 2, .heads_k = 1};
  problem.softmax_scale = std::log(3.0f);
  const auto identity = halves({1, 0, 0, 1}), v = halves({1, 2, 3, 4});
  const ExactRows forward = exact_forward(problem, {identity, identity, v}, all_rows(problem));
  expect_near(forward.o, {1.5, 2.5, 2.5, 3.5}, 1e-7);
  expect_near(forward.lse, {std::log(4.0), std::log(4.0)}, 1e-7);
  const ExactGradients gradients =
      exact_backward(problem, {identity, identity, v, identity}, all_gradient_rows(problem));
  const double a = 3.0 / 8.0 * std::log(3.0f);
  expect_near(gradients.dv, {0.75, 0.25, 0.25, 0.75}, 1e-7);
  expect_near(gradients.dq, {-a, a, -a, a}, 1e-7);
  expect_near(gradients.dk, {-a, -a, a, a}, 1e-7);
}

/// A problem with groups, and its twin in which each head has its own keys.
struct Twins {
  Problem grouped, expanded;
  OwnedInputs inputs, expanded_inputs;
  std::vector<Half> d_o;

  Twins(int heads, int heads_k, const MaskSpec& mask)
      : grouped{.batch = 2,
                .heads = heads,
                .seqlen_q = 9,
                .seqlen_k = 13,
                .head_dim = 8,
                .mask = mask,
                .dropout_p = 0.2f,
                .seed = 3,
                .heads_k = heads_k},
        expanded(grouped),
        inputs(make_inputs(grouped, Distribution::kNormal, 5)),
        d_o(make_gradient_input(grouped, Distribution::kNormal, 5)) {
    expanded.heads_k = heads;
    expanded_inputs = {inputs.q, repeated(inputs.k), repeated(inputs.v)};
  }
  BackwardInputs backward() const { return {inputs.q, inputs.k, inputs.v, d_o}; }
  BackwardInputs expanded_backward() const {
    return {expanded_inputs.q, expanded_inputs.k, expanded_inputs.v, d_o};
  }

  /// Sums [rows of the expanded keys, head_dim] over the heads of each group.
  std::vector<double> summed(const std::vector<double>& of_heads) const {
    const auto rows = all_rows_of<KeyRow>(key_shape(expanded));
    const auto dim = static_cast<std::size_t>(grouped.head_dim);
    const auto keys = static_cast<std::size_t>(grouped.seqlen_k);
    std::vector<double> sums(grouped.k_elements());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto key_head = static_cast<std::size_t>(rows[i].batch * grouped.key_heads() +
                                                     grouped.key_head(rows[i].head));
      const std::size_t row = key_head * keys + static_cast<std::size_t>(rows[i].row);
      for (std::size_t d = 0; d < dim; ++d) sums[row * dim + d] += of_heads[i * dim + d];
    }
    return sums;
  }

 private:
  std::vector<Half> repeated(const std::vector<Half>& keys) const {
    std::vector<Half> result;
    for (int token = 0; token < grouped.batch * grouped.seqlen_k; ++token) {
      for (int head = 0; head < grouped.heads; ++head) {
        const std::size_t at =
            row_offset(0, token, grouped.key_head(head), 0, grouped.key_heads(), grouped.head_dim);
        const auto row = std::span(keys).subspan(at, static_cast<std::size_t>(grouped.head_dim));
        result.insert(result.end(), row.begin(), row.end());
      }
    }
    return result;
  }
};

class GroupedHeadsOf : public testing::TestWithParam<int> {
 protected:
  template <class Check>
  void for_every_mask(Check check) {
    for (const MaskSpec& mask : kMaskOfEachKind) {
      SCOPED_TRACE(name_of(mask));
      check(Twins(6, GetParam(), mask));
    }
  }
};

TEST_P(GroupedHeadsOf, ExactRowsHaveTheExpandedBits) {
  for_every_mask([](const Twins& twins) {
    const auto rows = all_rows(twins.grouped);
    const ExactRows got = exact_forward(twins.grouped, twins.inputs.view(), rows);
    const ExactRows want = exact_forward(twins.expanded, twins.expanded_inputs.view(), rows);
    EXPECT_EQ(got.o, want.o);
    EXPECT_EQ(got.lse, want.lse);
  });
}

TEST_P(GroupedHeadsOf, ExactGradientsAreTheExpandedSums) {
  for_every_mask([](const Twins& twins) {
    const ExactGradients got =
        exact_backward(twins.grouped, twins.backward(), all_gradient_rows(twins.grouped));
    const ExactGradients want = exact_backward(twins.expanded, twins.expanded_backward(),
                                               all_gradient_rows(twins.expanded));
    EXPECT_EQ(got.dq, want.dq);
    expect_near(got.dk, twins.summed(want.dk), 1e-13);
    expect_near(got.dv, twins.summed(want.dv), 1e-13);
  });
}

TEST_P(GroupedHeadsOf, UnfusedRowsHaveTheExpandedBits) {
  const TensorCores tensor_cores{arithmetic_profile("volta"), Accumulator::kFp32};
  for_every_mask([&](const Twins& twins) {
    const auto rows = all_rows(twins.grouped);
    const ForwardRows got = unfused_forward(twins.grouped, twins.inputs.view(), rows, tensor_cores);
    const ForwardRows want =
        unfused_forward(twins.expanded, twins.expanded_inputs.view(), rows, tensor_cores);
    EXPECT_TRUE(std::ranges::equal(got.o, want.o, {}, &Half::bits, &Half::bits));
    EXPECT_EQ(got.lse, want.lse);
  });
}

TEST_P(GroupedHeadsOf, UnfusedGradientsAreNearTheExact) {
  const TensorCores tensor_cores{arithmetic_profile("volta"), Accumulator::kFp32};
  for_every_mask([&](const Twins& twins) {
    const GradientRows rows = all_gradient_rows(twins.grouped);
    const GradientErrors error =
        gradient_errors(unfused_backward(twins.grouped, twins.backward(), rows, tensor_cores),
                        exact_backward(twins.grouped, twins.backward(), rows));
    EXPECT_LT(error.dq.rel_l2, 1e-3);
    EXPECT_LT(error.dk.rel_l2, 1e-3);
    EXPECT_LT(error.dv.rel_l2, 1e-3);
  });
}

/// A row of dK or dV is a sum over the heads of its group. It needs all of these and no other.
TEST_P(GroupedHeadsOf, AKeyNeedsTheQueriesOfItsGroup) {
  const Twins twins(6, GetParam(), MaskSpec::full());
  const std::vector<QueryRow> queries =
      queries_needed_by(twins.grouped, {{}, {{1, GetParam() - 1, 4}}});
  const int group = 6 / GetParam();
  ASSERT_EQ(queries.size(), static_cast<std::size_t>(9 * group));
  EXPECT_EQ(queries.front(), (QueryRow{1, 6 - group, 0}));
  EXPECT_EQ(queries.back(), (QueryRow{1, 5, 8}));
}

INSTANTIATE_TEST_SUITE_P(HeadsK, GroupedHeadsOf, testing::Values(1, 2, 3, 6));

}  // namespace
}  // namespace sparkbench
