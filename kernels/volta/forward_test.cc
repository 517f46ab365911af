// The Volta forward kernels on the emulated V100, against the definition.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_problems.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

constexpr std::string_view kKernels[] = {"volta-fp16acc", "volta-fp32acc"};

struct ForwardOutputs {
  std::vector<Half> o;
  std::vector<float> lse;
  EmulationReport report;
};

ForwardOutputs run_emulated(std::string_view kernel, const Problem& problem,
                            const OwnedInputs& inputs, EmulationOptions options = {}) {
  if (options.profile == nullptr) options.profile = &arithmetic_profile("volta");
  ForwardOutputs outputs;
  outputs.o.assign(problem.q_elements(), Half{0x7fff});
  outputs.lse.assign(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN());
  outputs.report =
      emulate_forward(*find_attention_kernel(kernel), problem,
                      contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                         outputs.o.data(), outputs.lse.data()),
                      options, {});
  return outputs;
}

void expect_correct(std::string_view kernel, const Problem& problem,
                    const EmulationOptions& options = {}) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  const ForwardOutputs outputs = run_emulated(kernel, problem, inputs, options);
  EXPECT_EQ(outputs.report.findings_total, 0u);
  EXPECT_EQ(outputs.report.counters.bank_conflicts, 0u);

  const std::vector<QueryRow> rows = all_rows(problem);
  const ForwardInputs views{inputs.q, inputs.k, inputs.v};
  const ExactRows want = exact_forward(problem, views, rows);
  const ForwardRows unfused =
      unfused_forward(problem, views, rows,
                      {arithmetic_profile("volta"), find_attention_kernel(kernel)->accumulator});
  const ErrorMetrics error =
      error_metrics(gather_rows(problem, outputs.o, outputs.lse, rows), want);
  EXPECT_EQ(why_incorrect(error, error_metrics(unfused, want), {}), "")
      << "rel_l2 " << error.rel_l2 << ", lse " << error.lse_max_abs;
}

class VoltaForward : public testing::TestWithParam<std::tuple<std::string_view, int, Lengths>> {
 protected:
  static void expect_definition(const EmulationOptions& options) {
    const auto [kernel, head_dim, lengths] = GetParam();
    for_every_mask_and_some_dropout(
        head_dim, lengths,
        [&, kernel = kernel](const Problem& problem) { expect_correct(kernel, problem, options); });
  }
};

TEST_P(VoltaForward, MatchesTheDefinitionForEveryMaskAndDropout) { expect_definition({}); }

INSTANTIATE_TEST_SUITE_P(Lengths, VoltaForward,
                         testing::Combine(testing::ValuesIn(kKernels), testing::Values(64, 128),
                                          testing::ValuesIn(with_nightly<Lengths>(
                                              {{1, 1}, {129, 65}, {2, 193}, {257, 257}},
                                              {{127, 63}, {128, 64}, {131, 131}, {193, 5}}))));
/// Padded columns; and those above 128, where SMs of 64 KiB have no kernels.
INSTANTIATE_TEST_SUITE_P(
    HeadDims, VoltaForward,
    testing::Combine(testing::ValuesIn(kKernels),
                     testing::ValuesIn(with_nightly<int>({80, 256}, {8, 16, 24, 32, 40, 72, 96, 104,
                                                                     120, 136})),
                     testing::Values(Lengths{129, 65})));
INSTANTIATE_TEST_SUITE_P(
    PaddedLengths, VoltaForward,
    testing::Combine(testing::ValuesIn(kKernels), testing::Values(80),
                     testing::ValuesIn(with_nightly<Lengths>(
                         {{1, 1}},
                         {{127, 63}, {128, 64}, {131, 131}, {2, 193}, {193, 5}, {257, 257}}))));
INSTANTIATE_TEST_SUITE_P(
    WideLengths, VoltaForward,
    testing::Combine(testing::ValuesIn(kKernels), testing::Values(256),
                     testing::ValuesIn(with_nightly<Lengths>({{1, 1}}, {{2, 193}, {257, 131}}))));

/// The instances for Turing.
class VoltaForwardIn64KiB : public VoltaForward {};

TEST_P(VoltaForwardIn64KiB, MatchesTheDefinitionForEveryMaskAndDropout) {
  expect_definition({.shared_bytes_per_block = 64 << 10});
}

INSTANTIATE_TEST_SUITE_P(
    Lengths, VoltaForwardIn64KiB,
    testing::Combine(
        testing::ValuesIn(kKernels), testing::Values(64, 80, 128),
        testing::ValuesIn(with_nightly<Lengths>(
            {{129, 65}},
            {{1, 1}, {127, 63}, {128, 64}, {131, 131}, {2, 193}, {193, 5}, {257, 257}}))));
INSTANTIATE_TEST_SUITE_P(HeadDims, VoltaForwardIn64KiB,
                         testing::Combine(testing::ValuesIn(kKernels),
                                          testing::ValuesIn(with_nightly<int>(
                                              {}, {8, 16, 24, 32, 40, 72, 96, 104, 120})),
                                          testing::Values(Lengths{129, 65})));

Problem small_forward_problem() {
  return {.batch = 2,
          .heads = 3,
          .seqlen_q = 131,
          .seqlen_k = 70,
          .head_dim = 64,
          .mask = MaskSpec::causal(),
          .dropout_p = 0.1f,
          .seed = 5};
}

bool same_output_bits(const ForwardOutputs& a, const ForwardOutputs& b) {
  return std::memcmp(a.o.data(), b.o.data(), a.o.size() * sizeof(Half)) == 0 &&
         std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

class VoltaForwardBits : public testing::TestWithParam<std::string_view> {};

TEST_P(VoltaForwardBits, DoNotDependOnTheThreadSchedule) {
  const OwnedInputs inputs = make_inputs(small_forward_problem(), Distribution::kNormal, 3);
  const ForwardOutputs first =
      run_emulated(GetParam(), small_forward_problem(), inputs, {.schedule_seed = 0});
  for (const std::uint64_t seed : with_nightly<std::uint64_t>({1}, {2, 3})) {
    EXPECT_TRUE(same_output_bits(
        first, run_emulated(GetParam(), small_forward_problem(), inputs, {.schedule_seed = seed})));
  }
}

TEST_P(VoltaForwardBits, DoNotDependOnTheNumberOfWorkers) {
  const OwnedInputs inputs = make_inputs(small_forward_problem(), Distribution::kNormal, 3);
  EXPECT_TRUE(
      same_output_bits(run_emulated(GetParam(), small_forward_problem(), inputs, {.workers = 1}),
                       run_emulated(GetParam(), small_forward_problem(), inputs, {.workers = 2})));
}

TEST_P(VoltaForwardBits, LeaveRowsOfOtherTilesUntouched) {
  const Problem problem = small_forward_problem();
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const ForwardOutputs whole = run_emulated(GetParam(), problem, inputs);
  std::vector<Half> o(problem.q_elements(), Half{0x7fff});
  std::vector<float> lse(problem.lse_elements(), -7.0f);
  const auto* kernel = find_attention_kernel(GetParam());
  const std::array<int, 3> tile{1, 2, 0};  // rows 128.. of batch 0, head 2
  emulate_forward(*kernel, problem,
                  contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                     o.data(), lse.data()),
                  {.profile = &arithmetic_profile("volta")}, {&tile, 1});
  for (const QueryRow& row : all_rows(problem)) {
    const bool computed = row.batch == 0 && row.head == 2 && row.row >= 128;
    const std::size_t at =
        row_offset(row.batch, row.row, row.head, problem.seqlen_q, problem.heads, problem.head_dim);
    EXPECT_EQ(o[at].bits, computed ? whole.o[at].bits : 0x7fff);
    EXPECT_EQ(lse[row.lse_index(problem)], computed ? whole.lse[row.lse_index(problem)] : -7.0f);
  }
}

TEST_P(VoltaForwardBits, AreZeroAndMinusInfinityWithoutAKey) {
  const Problem problem = small_forward_problem();
  const ForwardOutputs outputs =
      run_emulated(GetParam(), problem, make_inputs(problem, Distribution::kNormal, 3));
  const int masked_rows = problem.seqlen_q - problem.seqlen_k;
  for (const QueryRow& row : all_rows(problem)) {
    if (row.row >= masked_rows) continue;
    EXPECT_EQ(outputs.lse[row.lse_index(problem)], -std::numeric_limits<float>::infinity());
    const std::size_t at =
        row_offset(row.batch, row.row, row.head, problem.seqlen_q, problem.heads, problem.head_dim);
    for (int d = 0; d < problem.head_dim; ++d) EXPECT_EQ(outputs.o[at + d].bits & 0x7fff, 0);
  }
}

TEST_P(VoltaForwardBits, ShowANanWhereItIsSeen) {
  Problem problem = small_forward_problem();
  problem.dropout_p = 0.0f;
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const int nan_row = 100;
  inputs.q[row_offset(1, nan_row, 2, problem.seqlen_q, problem.heads, problem.head_dim)] =
      Half{0x7e00};
  const ForwardOutputs outputs = run_emulated(GetParam(), problem, inputs);
  for (const QueryRow& row : all_rows(problem)) {
    const bool expected = row.batch == 1 && row.head == 2 && row.row == nan_row;
    EXPECT_EQ(std::isnan(outputs.lse[row.lse_index(problem)]), expected) << row.row;
  }
}

INSTANTIATE_TEST_SUITE_P(Accumulators, VoltaForwardBits, testing::ValuesIn(kKernels));

double rel_l1_of(std::string_view kernel, int seqlen_k) {
  const Problem problem{.seqlen_q = 64, .seqlen_k = seqlen_k, .head_dim = 64};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  const ForwardOutputs outputs = run_emulated(kernel, problem, inputs);
  const std::vector<QueryRow> rows = all_rows(problem);
  return error_metrics(gather_rows(problem, outputs.o, outputs.lse, rows),
                       exact_forward(problem, inputs.view(), rows))
      .rel_l1;
}

TEST(VoltaForwardAccumulator, InFp16LosesMoreWithMoreKeys) {
  const double short_fp16 = rel_l1_of("volta-fp16acc", 512);
  const double long_fp16 = rel_l1_of("volta-fp16acc", 4096);
  EXPECT_GE(long_fp16, 1.5 * short_fp16);
  const double short_fp32 = rel_l1_of("volta-fp32acc", 512);
  const double long_fp32 = rel_l1_of("volta-fp32acc", 4096);
  EXPECT_LE(long_fp32, 1.2 * short_fp32);
  EXPECT_GE(long_fp16, 2.0 * long_fp32);
}

TEST(VoltaForwardCounts, AreTheInstructionsOfTheAlgorithm) {
  const Problem problem{.seqlen_q = 128, .seqlen_k = 128, .head_dim = 64};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const Counters counters = run_emulated("volta-fp32acc", problem, inputs).report.counters;
  EXPECT_EQ(counters.mma_m8n8k4, 4u * 128 * 128 * 64 / 2048);
  // One before the first tile, one a tile.
  EXPECT_EQ(counters.barriers, 1u + 2);
  // No value changes lanes but the maxima of four rows a tile, two shuffles each; at the end their
  // sums, and two for each 8x8 tile of O.
  EXPECT_EQ(counters.shuffles, 4u * (2 * 4 * 2 + 4 * 2 + 2 * 8));
  // Q, K and V once, 128 bytes a row; O and LSE once.
  EXPECT_EQ(counters.global_sectors_read, 3u * 128 * 128 / 32);
  EXPECT_EQ(counters.global_sectors_written, 128u * 128 / 32 + 128 * 4 / 32);
}

TEST(VoltaForwardCounts, OfOneBufferAreItsAlgorithmsInstructions) {
  const Problem problem{.seqlen_q = 256, .seqlen_k = 128, .head_dim = 128};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const Counters counters = run_emulated("volta-fp32acc", problem, inputs).report.counters;
  EXPECT_EQ(counters.mma_m8n8k4, 4u * 256 * 128 * 128 / 2048);
  // One before the first tile, two a tile.
  EXPECT_EQ(counters.barriers, 1u + 2 * 2);
  // Per tile the maxima and the sums to the lanes that keep them, three each, and two values a row
  // back; at the end m and l for either group, and two for each 8x8 tile of O.
  EXPECT_EQ(counters.shuffles, 8u * (2 * (3 + 3 + 2 * 4) + 2 * 2 * 4 + 2 * 16));
  EXPECT_EQ(counters.global_sectors_read, (256u + 2 * 128) * 256 / 32);
  EXPECT_EQ(counters.global_sectors_written, 256u * 256 / 32 + 256 * 4 / 32);
}

/// The first half of a long block's rows, by itself, has short blocks (short_blocks.h): two per SM,
/// with other pieces of K and V.
TEST(VoltaForwardShortBlocks, HaveTheBitsOfLongOnes) {
  for (const std::string_view kernel : kKernels) {
    for (const float dropout_p : {0.0f, 0.2f}) {
      SCOPED_TRACE(testing::Message() << kernel << ", dropout " << dropout_p);
      Problem problem{
          .seqlen_q = 256, .seqlen_k = 300, .head_dim = 128, .dropout_p = dropout_p, .seed = 7};
      const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
      const auto long_blocks = run_emulated(kernel, problem, inputs);
      problem.seqlen_q = 128;
      const auto short_blocks = run_emulated(kernel, problem, inputs);
      ASSERT_EQ(2 * short_blocks.o.size(), long_blocks.o.size());
      EXPECT_EQ(std::memcmp(short_blocks.o.data(), long_blocks.o.data(),
                            short_blocks.o.size() * sizeof(Half)),
                0);
      EXPECT_EQ(std::memcmp(short_blocks.lse.data(), long_blocks.lse.data(),
                            short_blocks.lse.size() * sizeof(float)),
                0);
    }
  }
}

/// Tensor instructions of a square problem with a causal mask, as a part of those without.
double causal_part(int seqlen, int head_dim) {
  const auto mmas = [&](bool causal) {
    const Problem problem{.seqlen_q = seqlen,
                          .seqlen_k = seqlen,
                          .head_dim = head_dim,
                          .mask = MaskSpec::causal_if(causal)};
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
    const Counters counters = run_emulated("volta-fp32acc", problem, inputs).report.counters;
    return static_cast<double>(counters.mma_m8n8k4);
  };
  return mmas(true) / mmas(false);
}

TEST(VoltaForwardHeldQueries, LetAWarpSkipTilesItCannotSee) {
  // Two tiles: two warps see one, two see two.
  EXPECT_EQ(causal_part(128, 64), 6.0 / 8);
}

TEST(VoltaForwardOneBuffer, LetsAWarpSkipTilesItCannotSee) {
  // Four tiles: two warps see one, two see two, two see three and two see four.
  EXPECT_EQ(causal_part(256, 128), 20.0 / 32);
}

}  // namespace
}  // namespace sparkbench
