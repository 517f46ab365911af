// Packed sequences of any lengths in the Hopper kernels, on the emulated H100.
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "kernels/hopper/test_inputs.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_packed_alone.h"
#include "kernels/testing/test_problems.h"

namespace sparkbench {
namespace {

const AttentionKernel& kernel() { return *find_attention_kernel("hopper-fp32acc"); }

class HopperPacked : public testing::TestWithParam<int> {};

TEST_P(HopperPacked, HasTheBitsOfEachSequenceAlone) {
  expect_alone(kernel(),
               PackedCase(packed_problem(GetParam(), MaskSpec::causal(), 0.1f, 2), kRagged));
}

TEST_P(HopperPacked, HasThemWithoutMaskAndDropout) {
  expect_alone(kernel(),
               PackedCase(packed_problem(GetParam(), MaskSpec::full(), 0.0f, 4), kRagged));
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperPacked,
                         testing::ValuesIn(with_nightly<int>({64, 80, 128, 256}, {24, 96, 160})));

class HopperPackedMasks : public testing::TestWithParam<MaskSpec> {};

TEST_P(HopperPackedMasks, AreThoseOfEachSequence) {
  expect_alone(kernel(), PackedCase(packed_problem(64, GetParam(), 0.0f, 1), kRagged));
}

INSTANTIATE_TEST_SUITE_P(Kinds, HopperPackedMasks, testing::ValuesIn(kMaskOfEachKind));

TEST(HopperPackedBits, DependOnNoSchedule) {
  PackedCase made(packed_problem(128, MaskSpec::window(50), 0.5f, 2), kRagged);
  made.inputs = hopper::rising_inputs(made.problem, 7);
  const PackedRows rows = run_forward(kernel(), made);
  const PackedGradients gradients = run_backward(kernel(), made, rows, true);
  for (const std::uint64_t seed : with_nightly<std::uint64_t>({3}, {5, 8})) {
    const PackedRows again = run_forward(kernel(), made, seed);
    EXPECT_TRUE(same_bits(rows.o, again.o)) << seed;
    EXPECT_EQ(rows.lse, again.lse) << seed;
    const PackedGradients second = run_backward(kernel(), made, rows, true, seed);
    EXPECT_TRUE(same_bits(gradients.dq, second.dq)) << seed;
    EXPECT_TRUE(same_bits(gradients.dk, second.dk)) << seed;
    EXPECT_TRUE(same_bits(gradients.dv, second.dv)) << seed;
  }
}

/// The tiles of a sequence's last rows reach past its end, into the next sequence's rows.
TEST(HopperPacked, ReadsNoOtherSequence) {
  PackedCase made(packed_problem(64, MaskSpec::full(), 0.0f, 4), {{70, 90}, {40, 30}, {3, 200}});
  const PackedRows want = run_forward(kernel(), made);
  const PackedGradients gradients = run_backward(kernel(), made, want, true);
  const auto nan_from = [](std::vector<Half>& tensor, int row, int rows, int row_halves) {
    for (int i = row * row_halves; i < (row + rows) * row_halves; ++i) {
      tensor[static_cast<std::size_t>(i)].bits = 0x7e00;
    }
  };
  const int halves = 4 * 64;
  nan_from(made.inputs.q, 70, 40, halves);
  nan_from(made.inputs.k, 90, 30, halves);
  nan_from(made.inputs.v, 90, 30, halves);
  nan_from(made.d_o, 70, 40, halves);
  const PackedRows rows = run_forward(kernel(), made);
  const PackedGradients got = run_backward(kernel(), made, rows, true);
  for (const int sequence : {0, 2}) {
    expect_same_rows(made, sequence, rows, want);
    expect_same_gradients(made, sequence, got, gradients, true);
  }
}

TEST(HopperPacked, OfNoSequenceOrNoRowIsNothing) {
  const Problem problem = packed_problem(64, MaskSpec::causal(), 0.1f, 4);
  for (const std::vector<Lengths>& lengths :
       {std::vector<Lengths>{}, {{0, 0}}, {{0, 0}, {0, 0}}, {{3, 0}}, {{0, 3}}}) {
    expect_alone(kernel(), PackedCase(problem, lengths));
  }
}

TEST(HopperPacked, TouchesNothingElseWhateverOffsetsAre) {
  PackedCase made(packed_problem(64, MaskSpec::full(), 0.0f, 4), {{30, 40}, {20, 50}, {150, 60}});
  const PackedRows of_made = run_forward(kernel(), made);
  for (const std::vector<int>& offsets :
       {std::vector<int>{0, 900, -5, 200}, {10, 5, 3, 1000}, {-7, -3, 100, 50}}) {
    made.cu_seqlens_q = made.cu_seqlens_k = offsets;
    PackedRows rows(made);
    PackedGradients gradients(made);
    const EmulationReport forward = emulate_packed_forward(
        kernel(), made.problem, made.lengths(), made.tensors(rows).all, options_of(kernel()), {});
    const EmulationReport backward =
        emulate_packed_backward(kernel(), made.problem, made.lengths(),
                                made.tensors(of_made, gradients), options_of(kernel()), true, {});
    for (const EmulationReport* report : {&forward, &backward}) {
      for (const Finding& finding : report->findings) {
        EXPECT_NE(finding.kind, FindingKind::kOutOfBounds) << finding.message;
      }
    }
  }
}

TEST(HopperPacked, RefusesWhatIsNotPacked) {
  PackedCase made(packed_problem(64, MaskSpec::full(), 0.0f, 4), {{3, 4}});
  PackedRows rows(made);
  made.problem.batch = 2;
  EXPECT_THROW(emulate_packed_forward(kernel(), made.problem, made.lengths(),
                                      made.tensors(rows).all, options_of(kernel()), {}),
               std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
