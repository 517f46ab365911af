// Varlen in the references: each sequence gives the same result as an entry of a batch with its own
// lengths. No other sequence affects it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/test_masks.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/dropout_mask.h"
#include "reference/inputs/inputs.h"
#include "reference/mask_check.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

const std::vector<SequenceLength> kLengths = {{0, 0}, {5, 9},  {0, 4},  {3, 0},
                                              {1, 1}, {33, 7}, {2, 40}, {0, 0}};

Problem packed_problem(const MaskSpec& mask, int heads_k = 1) {
  const Problem of_one{
      .heads = 2, .head_dim = 8, .mask = mask, .dropout_p = 0.2f, .seed = 3, .heads_k = heads_k};
  return with_lengths(of_one, std::make_shared<const SequenceLengths>(kLengths));
}

/// A varlen problem with its inputs, and each sequence as the last entry of a batch.
struct Packed {
  Problem problem;
  OwnedInputs inputs;
  std::vector<Half> d_o;

  explicit Packed(const MaskSpec& mask)
      : problem(packed_problem(mask)),
        inputs(make_inputs(problem, Distribution::kNormal, 5)),
        d_o(make_gradient_input(problem, Distribution::kNormal, 5)) {}

  BackwardInputs backward() const { return {inputs.q, inputs.k, inputs.v, d_o}; }

  Problem batch_of(int sequence) const {
    Problem batch = problem.alone(sequence);
    batch.batch = sequence + 1;
    return batch;
  }
  /// Inputs depend on the position in the sequence.
  OwnedInputs inputs_of(int sequence) const {
    return make_inputs(batch_of(sequence), Distribution::kNormal, 5);
  }
};

template <class Row>
std::vector<Row> of_sequence(const std::vector<Row>& rows, int sequence) {
  std::vector<Row> some;
  for (const Row& row : rows) {
    if (row.batch == sequence) some.push_back(row);
  }
  return some;
}

template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if constexpr (std::is_same_v<T, Half>) {
      EXPECT_EQ(got[i].bits, want[i].bits) << i;
    } else {
      EXPECT_EQ(got[i], want[i]) << i;
    }
  }
}

class PackedSequences : public testing::TestWithParam<MaskSpec> {
 protected:
  /// Calls check(packed, sequence) for each sequence that has rows and keys.
  template <class Check>
  void for_whole_sequences(Check check) {
    const Packed packed(GetParam());
    for (int i = 0; i < packed.problem.batch; ++i) {
      if (packed.problem.seqlen_q_of(i) == 0 || packed.problem.seqlen_k_of(i) == 0) continue;
      SCOPED_TRACE(i);
      check(packed, i);
    }
  }
};

TEST_P(PackedSequences, HaveTheExactRowsOfEachAlone) {
  for_whole_sequences([](const Packed& packed, int i) {
    const auto rows = of_sequence(all_rows(packed.problem), i);
    const ExactRows got = exact_forward(packed.problem, packed.inputs.view(), rows);
    const OwnedInputs inputs = packed.inputs_of(i);
    const ExactRows want = exact_forward(packed.batch_of(i), inputs.view(), rows);
    expect_same(got.o, want.o);
    expect_same(got.lse, want.lse);
  });
}

TEST_P(PackedSequences, HaveTheExactGradientsOfEachAlone) {
  for_whole_sequences([](const Packed& packed, int i) {
    const GradientRows all = all_gradient_rows(packed.problem);
    const GradientRows rows{of_sequence(all.dq, i), of_sequence(all.dkv, i)};
    const ExactGradients got = exact_backward(packed.problem, packed.backward(), rows);
    const OwnedInputs inputs = packed.inputs_of(i);
    const auto d_o = make_gradient_input(packed.batch_of(i), Distribution::kNormal, 5);
    const ExactGradients want =
        exact_backward(packed.batch_of(i), {inputs.q, inputs.k, inputs.v, d_o}, rows);
    expect_same(got.dq, want.dq);
    expect_same(got.dk, want.dk);
    expect_same(got.dv, want.dv);
  });
}

TEST_P(PackedSequences, HaveTheUnfusedBitsOfEachAlone) {
  const TensorCores tensor_cores{arithmetic_profile("volta")};
  for_whole_sequences([&](const Packed& packed, int i) {
    const GradientRows all = all_gradient_rows(packed.problem);
    const GradientRows rows{of_sequence(all.dq, i), of_sequence(all.dkv, i)};
    const Problem batch = packed.batch_of(i);
    const OwnedInputs inputs = packed.inputs_of(i);
    const auto d_o = make_gradient_input(batch, Distribution::kNormal, 5);
    const ForwardRows o =
        unfused_forward(packed.problem, packed.inputs.view(), rows.dq, tensor_cores);
    const ForwardRows want_o = unfused_forward(batch, inputs.view(), rows.dq, tensor_cores);
    expect_same(o.o, want_o.o);
    expect_same(o.lse, want_o.lse);
    const HalfGradients got =
        unfused_backward(packed.problem, packed.backward(), rows, tensor_cores);
    const HalfGradients want =
        unfused_backward(batch, {inputs.q, inputs.k, inputs.v, d_o}, rows, tensor_cores);
    expect_same(got.dq, want.dq);
    expect_same(got.dk, want.dk);
    expect_same(got.dv, want.dv);
  });
}

INSTANTIATE_TEST_SUITE_P(Masks, PackedSequences, testing::ValuesIn(kMaskOfEachKind));

TEST(PackedSequences, WithoutKeysHaveZeroRows) {
  const Packed packed(MaskSpec::full());
  const TensorCores tensor_cores{arithmetic_profile("volta")};
  const GradientRows all = all_gradient_rows(packed.problem);
  const GradientRows rows{of_sequence(all.dq, 3), of_sequence(all.dkv, 2)};
  ASSERT_EQ(rows.dq.size(), 2u * 3);
  ASSERT_EQ(rows.dkv.size(), 1u * 4);
  const ExactRows exact = exact_forward(packed.problem, packed.inputs.view(), rows.dq);
  expect_same(exact.o, std::vector<double>(2 * 3 * 8));
  expect_same(exact.lse, std::vector<double>(6, -std::numeric_limits<double>::infinity()));
  const ForwardRows unfused =
      unfused_forward(packed.problem, packed.inputs.view(), rows.dq, tensor_cores);
  expect_same(unfused.o, std::vector<Half>(2 * 3 * 8));
  expect_same(unfused.lse, std::vector<float>(6, -std::numeric_limits<float>::infinity()));
  const ExactGradients gradients = exact_backward(packed.problem, packed.backward(), rows);
  expect_same(gradients.dq, std::vector<double>(2 * 3 * 8));
  expect_same(gradients.dk, std::vector<double>(4 * 8));
  const HalfGradients of_unfused =
      unfused_backward(packed.problem, packed.backward(), rows, tensor_cores);
  expect_same(of_unfused.dq, std::vector<Half>(2 * 3 * 8));
  expect_same(of_unfused.dv, std::vector<Half>(4 * 8));
}

TEST(PackedSequences, OfNoneAreNoRows) {
  const Problem none =
      with_lengths({}, std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{}));
  EXPECT_TRUE(all_rows(none).empty());
  EXPECT_TRUE(all_gradient_rows(none).dkv.empty());
  const ExactRows exact = exact_forward(none, {}, {});
  EXPECT_EQ(why_incorrect(error_metrics(ForwardRows{}, exact), {}, {}), "");
  EXPECT_TRUE(std::isnan(summarize_dropout_mask(none, {}).kept_fraction));
}

TEST(PackedSequences, RoundTheirForwardPassInPlace) {
  const Packed packed(MaskSpec::causal());
  const auto rows = all_rows(packed.problem);
  const RoundedForward forward = rounded_forward(packed.problem, packed.inputs.view(), rows);
  const ForwardRows gathered = gather_rows(packed.problem, forward.o, forward.lse, rows);
  const ExactRows exact = exact_forward(packed.problem, packed.inputs.view(), rows);
  for (std::size_t i = 0; i < exact.o.size(); ++i) {
    EXPECT_EQ(gathered.o[i].bits, to_half(static_cast<float>(exact.o[i])).bits) << i;
  }
  for (std::size_t i = 0; i < exact.lse.size(); ++i) {
    EXPECT_EQ(gathered.lse[i], static_cast<float>(exact.lse[i])) << i;
  }
}

TEST(PackedSequences, HaveNoRowsOfEmptyOnes) {
  const Problem problem = packed_problem(MaskSpec::full());
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
  check_forward(problem, inputs.view(), all_rows(problem));
  EXPECT_THROW(check_forward(problem, inputs.view(), std::vector<QueryRow>{{0, 0, 0}}),
               std::invalid_argument);
}

TEST(PackedSequences, TellAMaskFromOneAKeyOff) {
  const Packed packed(MaskSpec::window(3));
  const auto rows = all_rows(packed.problem);
  EXPECT_EQ(near_misses(packed.problem).size(), 2u);
  const RoundedForward forward = rounded_forward(packed.problem, packed.inputs.view(), rows);
  const ForwardRows got = gather_rows(packed.problem, forward.o, forward.lse, rows);
  const auto why = [](const ErrorMetrics& error) {
    return why_incorrect(error, {}, {0.0, 0x1p-8});
  };
  EXPECT_EQ(why_mask_in_doubt(packed.problem, packed.inputs.view(), rows, got, why), "");
}

TEST(DropoutScale, AsAskedIsInTheExactResult) {
  Problem problem{.seqlen_q = 4, .seqlen_k = 64, .head_dim = 8, .dropout_p = 0.17f, .seed = 3};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
  const auto rows = all_rows(problem);
  const ExactRows applied = exact_forward(problem, inputs.view(), rows);
  problem.dropout_scale = DropoutScale::kAsked;
  const ExactRows asked = exact_forward(problem, inputs.view(), rows);
  const double ratio = 212.0 / 256.0 / (1.0 - static_cast<double>(0.17f));
  for (std::size_t i = 0; i < asked.o.size(); ++i) {
    EXPECT_NEAR(asked.o[i], ratio * applied.o[i], 1e-14) << i;
  }
}

}  // namespace
}  // namespace sparkbench
