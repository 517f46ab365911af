// The Volta backward kernels on the emulated V100, against the definition.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/same_bits.h"
#include "kernels/testing/test_problems.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

/// A problem, its inputs, and the exact forward pass rounded to the types that a kernel leaves.
struct Case {
  Problem problem;
  OwnedInputs inputs;
  std::vector<Half> d_o;
  RoundedForward forward;

  BackwardInputs view() const {
    return {inputs.q, inputs.k, inputs.v, d_o, forward.o, forward.lse};
  }
};

Case make_case(const Problem& problem) {
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  RoundedForward forward = rounded_forward(problem, inputs.view(), all_rows(problem));
  return {problem, std::move(inputs), make_gradient_input(problem, Distribution::kNormal, 7),
          std::move(forward)};
}

struct Outputs {
  std::vector<Half> dq, dk, dv;
  EmulationReport report;

  GradientTensors view() const { return {dq, dk, dv}; }
};

struct RunOptions {
  bool is_deterministic = false;
  std::uint64_t schedule_seed = 0;
  int workers = 0;
  BackwardSample sample = {};
  std::size_t shared_bytes_per_block = EmulationOptions{}.shared_bytes_per_block;
};

Outputs run_emulated(Accumulator accumulator, const Case& made, const RunOptions& run = {}) {
  const auto* kernel =
      find_attention_kernel(accumulator == Accumulator::kFp16 ? "volta-fp16acc" : "volta-fp32acc");
  const Half poison{0x7fff};
  Outputs outputs{std::vector<Half>(made.problem.q_elements(), poison),
                  std::vector<Half>(made.problem.k_elements(), poison),
                  std::vector<Half>(made.problem.k_elements(), poison),
                  {}};
  const EmulationOptions options{.profile = &arithmetic_profile("volta"),
                                 .schedule_seed = run.schedule_seed,
                                 .workers = run.workers,
                                 .shared_bytes_per_block = run.shared_bytes_per_block};
  outputs.report =
      emulate_backward(*kernel, made.problem,
                       contiguous_tensors(made.problem, made.inputs.q.data(), made.inputs.k.data(),
                                          made.inputs.v.data(), made.forward.o.data(),
                                          made.d_o.data(), made.forward.lse.data(),
                                          outputs.dq.data(), outputs.dk.data(), outputs.dv.data()),
                       options, run.is_deterministic, run.sample);
  return outputs;
}

std::string findings_of(const EmulationReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    text += std::string(to_string(finding.kind)) + " " + finding.file + ":" +
            std::to_string(finding.line) + " " + finding.address + " " + finding.message + "\n";
  }
  return text;
}

void expect_correct(Accumulator accumulator, const Case& made, const GradientRows& rows,
                    const RunOptions& run) {
  const Outputs outputs = run_emulated(accumulator, made, run);
  EXPECT_EQ(outputs.report.findings_total, 0u) << findings_of(outputs.report);
  EXPECT_EQ(outputs.report.counters.bank_conflicts, 0u);
  const ExactGradients want = exact_backward(made.problem, made.view(), rows);
  const HalfGradients unfused =
      unfused_backward(made.problem, made.view(), rows, {arithmetic_profile("volta"), accumulator});
  const GradientErrors error =
      gradient_errors(gather_gradients(made.problem, outputs.view(), rows), want);
  EXPECT_EQ(why_incorrect(error, gradient_errors(unfused, want), {}), "")
      << "rel_l2 dq " << error.dq.rel_l2 << ", dk " << error.dk.rel_l2 << ", dv "
      << error.dv.rel_l2;
}

class VoltaBackward : public testing::TestWithParam<std::tuple<Accumulator, int, Lengths>> {
 protected:
  /// Deterministic and not.
  static void expect_definition(std::size_t shared_bytes_per_block) {
    const auto [accumulator, head_dim, lengths] = GetParam();
    for_every_mask_and_some_dropout(head_dim, lengths, [=](const Problem& problem) {
      const Case made = make_case(problem);
      for (const bool is_deterministic : {false, true}) {
        SCOPED_TRACE(testing::Message() << "deterministic " << is_deterministic);
        expect_correct(accumulator, made, all_gradient_rows(problem),
                       {.is_deterministic = is_deterministic,
                        .shared_bytes_per_block = shared_bytes_per_block});
      }
    });
  }
};

TEST_P(VoltaBackward, MatchesTheDefinitionForMasksDropoutsAndModes) {
  expect_definition(EmulationOptions{}.shared_bytes_per_block);
}

INSTANTIATE_TEST_SUITE_P(Lengths, VoltaBackward,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(64, 128),
                                          testing::ValuesIn(with_nightly<Lengths>(
                                              {{1, 1}, {65, 129}, {131, 131}, {193, 5}},
                                              {{63, 127}, {64, 128}, {31, 64}, {2, 193}}))));
/// Padded columns; and those above 128, where SMs of 64 KiB have no kernels.
INSTANTIATE_TEST_SUITE_P(
    HeadDims, VoltaBackward,
    testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                     testing::ValuesIn(with_nightly<int>({80, 256}, {8, 16, 24, 32, 40, 72, 96, 104,
                                                                     120, 136})),
                     testing::Values(Lengths{65, 129})));
INSTANTIATE_TEST_SUITE_P(
    WideLengths, VoltaBackward,
    testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32), testing::Values(256),
                     testing::ValuesIn(with_nightly<Lengths>({{1, 1}}, {{131, 131}}))));

/// The instances for Turing.
class VoltaBackwardIn64KiB : public VoltaBackward {};

TEST_P(VoltaBackwardIn64KiB, MatchesTheDefinitionForMasksDropoutsAndModes) {
  expect_definition(64 << 10);
}

INSTANTIATE_TEST_SUITE_P(
    Lengths, VoltaBackwardIn64KiB,
    testing::Combine(
        testing::Values(Accumulator::kFp16, Accumulator::kFp32), testing::Values(64, 128),
        testing::ValuesIn(with_nightly<Lengths>(
            {{65, 129}},
            {{1, 1}, {63, 127}, {64, 128}, {31, 64}, {131, 131}, {2, 193}, {193, 5}}))));
INSTANTIATE_TEST_SUITE_P(HeadDims, VoltaBackwardIn64KiB,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::ValuesIn(with_nightly<int>(
                                              {80}, {8, 16, 24, 32, 40, 72, 96, 104, 120})),
                                          testing::Values(Lengths{65, 129})));

Problem small_problem() {
  return {.batch = 2,
          .heads = 3,
          .seqlen_q = 131,
          .seqlen_k = 140,
          .head_dim = 64,
          .mask = MaskSpec::causal(),
          .dropout_p = 0.1f,
          .seed = 5};
}

class VoltaBackwardBits : public testing::TestWithParam<Accumulator> {};

TEST_P(VoltaBackwardBits, DoNotDependOnTheScheduleWhenDeterministic) {
  const Case made = make_case(small_problem());
  const Outputs first = run_emulated(GetParam(), made, {.is_deterministic = true, .workers = 1});
  for (const std::uint64_t seed : with_nightly<std::uint64_t>({1}, {2, 3})) {
    const Outputs again =
        run_emulated(GetParam(), made, {.is_deterministic = true, .schedule_seed = seed});
    EXPECT_TRUE(same_bits(first.dq, again.dq));
    EXPECT_TRUE(same_bits(first.dk, again.dk));
    EXPECT_TRUE(same_bits(first.dv, again.dv));
  }
}

TEST_P(VoltaBackwardBits, OfKeysDoNotDependOnTheSchedule) {
  const Case made = make_case(small_problem());
  const Outputs atomic = run_emulated(GetParam(), made, {.schedule_seed = 9});
  const Outputs deterministic = run_emulated(GetParam(), made, {.is_deterministic = true});
  EXPECT_TRUE(same_bits(atomic.dk, deterministic.dk));
  EXPECT_TRUE(same_bits(atomic.dv, deterministic.dv));
}

TEST_P(VoltaBackwardBits, AreZeroWhereNoKeyIsVisible) {
  Problem problem = small_problem();
  problem.seqlen_k = 70;
  const Case made = make_case(problem);
  for (const bool is_deterministic : {false, true}) {
    const Outputs outputs = run_emulated(GetParam(), made, {.is_deterministic = is_deterministic});
    for (const QueryRow& row : all_rows(problem)) {
      if (row.row >= problem.seqlen_q - problem.seqlen_k) continue;
      const std::size_t at = row_offset(row.batch, row.row, row.head, problem.seqlen_q,
                                        problem.heads, problem.head_dim);
      for (int d = 0; d < problem.head_dim; ++d) {
        EXPECT_EQ(outputs.dq[at + static_cast<std::size_t>(d)].bits & 0x7fff, 0);
      }
    }
  }
}

TEST_P(VoltaBackwardBits, OfASampleAreCorrect) {
  Problem problem = small_problem();
  problem.seqlen_q = 300;
  problem.seqlen_k = 270;
  const Case made = make_case(problem);
  const BackwardSample sample{.query_tiles = {{1, 2, 0}, {2, 0, 1}},
                              .key_tiles = {{0, 2, 0}, {2, 0, 1}}};
  GradientRows rows;
  for (int row = 128; row < 256; ++row) rows.dq.push_back({0, 2, row});
  for (int row = 256; row < 300; ++row) rows.dq.push_back({1, 0, row});
  for (int row = 0; row < 128; ++row) rows.dkv.push_back({0, 2, row});
  for (int row = 256; row < 270; ++row) rows.dkv.push_back({1, 0, row});
  for (const bool is_deterministic : {false, true}) {
    SCOPED_TRACE(is_deterministic);
    expect_correct(GetParam(), made, rows,
                   {.is_deterministic = is_deterministic, .sample = sample});
  }
}

INSTANTIATE_TEST_SUITE_P(Accumulators, VoltaBackwardBits,
                         testing::Values(Accumulator::kFp16, Accumulator::kFp32));

TEST(VoltaBackwardCounts, AreOfFiveProductsSevenWhenDeterministic) {
  const Case made = make_case({.seqlen_q = 128, .seqlen_k = 128, .head_dim = 64});
  constexpr std::uint64_t kProduct = 2u * 128 * 128 * 64 / 2048;
  const auto mma = [&](bool is_deterministic) {
    return run_emulated(Accumulator::kFp32, made, {.is_deterministic = is_deterministic})
        .report.counters.mma_m8n8k4;
  };
  EXPECT_EQ(mma(false), 5 * kProduct);
  EXPECT_EQ(mma(true), 7 * kProduct);
}

}  // namespace
}  // namespace sparkbench
