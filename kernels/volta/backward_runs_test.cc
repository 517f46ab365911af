// Runs of blocks of keys on the emulated V100: dQ is the definition's and has the same bits
// whatever the runs are, dK and dV have those of blocks of their own; and which passes have runs.
#include "kernels/volta/run_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/volta/backward_emulated.h"
#include "kernels/volta/backward_workspace.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench::volta {
namespace {

struct Gradients {
  std::vector<Half> dq, dk, dv;
  EmulationReport report;
};

/// A problem, its inputs, and the exact forward pass rounded to the types that a kernel leaves.
class Case {
 public:
  explicit Case(const Problem& problem)
      : problem_(problem),
        inputs_(make_inputs(problem, Distribution::kNormal, 7)),
        d_o_(make_gradient_input(problem, Distribution::kNormal, 7)),
        forward_(rounded_forward(problem, inputs_.view(), all_rows(problem))) {}

  BackwardInputs inputs() const {
    return {inputs_.q, inputs_.k, inputs_.v, d_o_, forward_.o, forward_.lse};
  }

  Gradients run(Accumulator accumulator, const KeyRuns& runs, const BackwardSample& sample = {},
                std::uint64_t schedule_seed = 0) const {
    return into([&](const BackwardTensors& tensors) {
      return emulate_backward_runs(accumulator, problem_, tensors, options(schedule_seed), runs,
                                   sample);
    });
  }
  Gradients run_pass(Accumulator accumulator, bool is_deterministic,
                     const BackwardSample& sample = {}) const {
    return into([&](const BackwardTensors& tensors) {
      return emulate_backward(accumulator, problem_, tensors, options(0), is_deterministic, sample);
    });
  }

 private:
  static EmulationOptions options(std::uint64_t schedule_seed) {
    return {.profile = &arithmetic_profile("volta"), .schedule_seed = schedule_seed};
  }
  template <class Emulate>
  Gradients into(Emulate emulate) const {
    const Half poison{0x7fff};
    Gradients made{std::vector<Half>(problem_.q_elements(), poison),
                   std::vector<Half>(problem_.k_elements(), poison),
                   std::vector<Half>(problem_.k_elements(), poison),
                   {}};
    made.report = emulate(contiguous_tensors(
        problem_, inputs_.q.data(), inputs_.k.data(), inputs_.v.data(), forward_.o.data(),
        d_o_.data(), forward_.lse.data(), made.dq.data(), made.dk.data(), made.dv.data()));
    return made;
  }

  const Problem problem_;
  const OwnedInputs inputs_;
  const std::vector<Half> d_o_;
  const RoundedForward forward_;
};

bool same_bits(const std::vector<Half>& a, const std::vector<Half>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Half)) == 0;
}

void expect_correct(Accumulator accumulator, const Problem& problem, const Case& made,
                    const Gradients& got, const GradientRows& rows) {
  const ExactGradients want = exact_backward(problem, made.inputs(), rows);
  const HalfGradients unfused = unfused_fp16_backward(problem, made.inputs(), rows,
                                                      {arithmetic_profile("volta"), accumulator});
  const GradientErrors error =
      gradient_errors(gather_gradients(problem, {got.dq, got.dk, got.dv}, rows), want);
  EXPECT_EQ(why_incorrect(error, gradient_errors(unfused, want), {}), "");
}

struct Shape {
  int seqlen_q, seqlen_k, heads, heads_k;
};

/// Ends within steps and between them, more keys than queries, and groups of query heads.
constexpr Shape kShapes[] = {
    {320, 320, 2, 2}, {131, 333, 3, 1}, {250, 257, 1, 1}, {449, 449, 2, 1}};
/// On both sides of a step and of a block, and with keys behind a query.
constexpr MaskSpec kMasks[] = {
    MaskSpec::window(1),   MaskSpec::window(33),   MaskSpec::window(64),
    MaskSpec::window(65),  MaskSpec::window(128),  MaskSpec::window(200),
    MaskSpec::band(20, 5), MaskSpec::band(64, 64), MaskSpec::band(0, 100)};

class VoltaBackwardRuns : public testing::TestWithParam<std::tuple<Accumulator, int, float>> {};

TEST_P(VoltaBackwardRuns, HaveTheSameBitsWhereverTheyBegin) {
  const auto [accumulator, head_dim, dropout_p] = GetParam();
  for (const Shape& shape : kShapes) {
    for (const MaskSpec& mask : kMasks) {
      SCOPED_TRACE(testing::Message()
                   << name_of(mask) << ", " << shape.seqlen_q << " x " << shape.seqlen_k);
      const Problem problem{.batch = 2,
                            .heads = shape.heads,
                            .seqlen_q = shape.seqlen_q,
                            .seqlen_k = shape.seqlen_k,
                            .head_dim = head_dim,
                            .mask = mask,
                            .dropout_p = dropout_p,
                            .seed = 11,
                            .heads_k = shape.heads_k};
      const Case made(problem);
      const Gradients whole = made.run(accumulator, runs_of_blocks(problem, 8));
      EXPECT_EQ(whole.report.findings_total, 0u)
          << (whole.report.findings.empty() ? "" : whole.report.findings.front().message);
      EXPECT_EQ(whole.report.counters.bank_conflicts, 0u);
      expect_correct(accumulator, problem, made, whole, all_gradient_rows(problem));
      const Gradients blocks = made.run_pass(accumulator, true);
      EXPECT_TRUE(same_bits(blocks.dk, whole.dk));
      EXPECT_TRUE(same_bits(blocks.dv, whole.dv));
      for (const int run : {1, 3}) {
        SCOPED_TRACE(testing::Message() << "runs of " << run);
        const Gradients parts = made.run(accumulator, runs_of_blocks(problem, run), {}, 5);
        EXPECT_EQ(parts.report.findings_total, 0u);
        EXPECT_TRUE(same_bits(whole.dq, parts.dq));
        EXPECT_TRUE(same_bits(whole.dk, parts.dk));
        EXPECT_TRUE(same_bits(whole.dv, parts.dv));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, VoltaBackwardRuns,
                         testing::Values(std::tuple(Accumulator::kFp16, 64, 0.0f),
                                         std::tuple(Accumulator::kFp16, 40, 0.17f),
                                         std::tuple(Accumulator::kFp32, 40, 0.0f),
                                         std::tuple(Accumulator::kFp32, 64, 0.17f)));

/// Enough blocks of keys for runs, of few columns.
Problem problem_with_runs() {
  return {.heads = 24,
          .seqlen_q = 2048,
          .seqlen_k = 2048,
          .head_dim = 40,
          .mask = MaskSpec::window(30),
          .seed = 3};
}

TEST(VoltaRunSamples, OfASampleHaveTheBitsOfThePass) {
  const Problem problem = problem_with_runs();
  ASSERT_TRUE(has_runs(problem));
  const Case made(problem);
  const BackwardSample sample{.query_tiles = {{0, 2, 0}, {9, 5, 0}, {15, 23, 0}},
                              .key_tiles = {{0, 2, 0}, {9, 5, 0}, {15, 23, 0}}};
  const Gradients want = made.run(Accumulator::kFp32, plan_runs(problem));
  const Gradients got = made.run_pass(Accumulator::kFp32, false, sample);
  EXPECT_EQ(want.report.findings_total + got.report.findings_total, 0u);
  for (const SampleTile& tile : sample.key_tiles) {
    for (int row = kSampleRows * tile[0]; row < kSampleRows * (tile[0] + 1); ++row) {
      const std::size_t at = row_offset(0, row, tile[1], 2048, 24, 40);
      for (std::size_t d = 0; d < 40; ++d) {
        ASSERT_EQ(got.dq[at + d].bits, want.dq[at + d].bits);
        ASSERT_EQ(got.dk[at + d].bits, want.dk[at + d].bits);
        ASSERT_EQ(got.dv[at + d].bits, want.dv[at + d].bits);
      }
    }
  }
}

TEST(VoltaRunSamples, AddNothingToSumsOfOthers) {
  const Problem problem = problem_with_runs();
  const BackwardSample tile{.query_tiles = {{9, 5, 0}}, .key_tiles = {{9, 5, 0}}};
  const Counters counters = Case(problem).run_pass(Accumulator::kFp32, false, tile).report.counters;
  // Five products of two blocks of keys with three steps each, and of a step that is done again.
  EXPECT_EQ(counters.mma_m8n8k4, (2 * 3 + 1) * 5u * 2 * 32 * 64 * 64 / 2048);
}

/// By the definition: steps of blocks of keys before a run that see one of its queries.
int steps_again_of(const KeyMask& mask, int begin) {
  const PlannedRun run{mask, begin, begin + 8 * kRunBlock};
  int steps = 0;
  for (int query = run.first_query(begin); query < mask.seqlen_q; query += kRunStep) {
    for (int key = 0; key < begin; key += kRunBlock) {
      bool sees = false;
      for (int row = query; row < query + kRunStep; ++row) {
        for (int k = key; k < key + kRunBlock; ++k) sees = sees || mask.sees(row, k);
      }
      steps += sees ? 1 : 0;
    }
  }
  return steps;
}

TEST(VoltaRunPlan, CountsTheStepsThatAreDoneAgain) {
  for (const int window : {1, 2, 33, 64, 65, 128, 200, 512}) {
    const KeyMask mask = make_key_mask(MaskSpec::window(window), 2048, 2048);
    EXPECT_EQ(steps_again(mask), steps_again_of(mask, 1024)) << window;
  }
}

TEST(VoltaRunPlan, RingsHoldTheQueriesOfABlock) {
  for (const MaskSpec& mask_spec : kMasks) {
    for (const int more_keys : {0, 7, 40}) {
      const Problem problem{.seqlen_q = 1000, .seqlen_k = 1000 + more_keys, .mask = mask_spec};
      const KeyMask mask = problem.key_mask();
      const PlannedRun run{mask, 0, 2048};
      const int ring = runs_of_blocks(problem, 1).ring_mask + 1;
      for (int key = 0; run.has(key); key += kRunBlock) {
        const Range rows = run.walked_at(key);
        const int first = std::min(rows.begin, run.finished_at(key).begin) / kRunStep * kRunStep;
        EXPECT_LE(rows.end + kRunStep - 1 - first, ring + kRunStep - 1)
            << name_of(mask_spec) << ", key " << key;
      }
    }
  }
}

Problem long_problem(const MaskSpec& mask, int seqlen = 16384) {
  return {.heads = 32, .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = 64, .mask = mask};
}

TEST(VoltaRunPlan, FillsTheChipToTheEnd) {
  const KeyRuns runs = plan_runs(long_problem(MaskSpec::window(128)));
  EXPECT_EQ(runs.keys, 52 * kRunBlock);
  EXPECT_EQ(runs.of_head, 5);
  EXPECT_EQ(runs.ring_mask, 255);
  EXPECT_EQ(plan_runs(long_problem(MaskSpec::window(128), 4096)).keys, 13 * kRunBlock);
}

TEST(VoltaRunPlan, IsOfShortWindowsAndLongProblems) {
  EXPECT_TRUE(has_runs(long_problem(MaskSpec::window(128))));
  EXPECT_TRUE(has_runs(long_problem(MaskSpec::window(256))));
  EXPECT_TRUE(has_runs(long_problem(MaskSpec::window(512), 65536)));
  EXPECT_TRUE(has_runs(long_problem(MaskSpec::band(64, 64))));
  EXPECT_FALSE(has_runs(long_problem(MaskSpec::window(512))));
  EXPECT_FALSE(has_runs(long_problem(MaskSpec::causal())));
  EXPECT_FALSE(has_runs(long_problem(MaskSpec::full())));
  EXPECT_FALSE(has_runs(long_problem(MaskSpec::window(128), 512)));
  Problem problem = long_problem(MaskSpec::window(128));
  problem.head_dim = 128;
  EXPECT_FALSE(has_runs(problem));
  problem.head_dim = 64;
  problem.seqlen_q += 1;  // its first query sees no key
  EXPECT_FALSE(has_runs(problem));
}

TEST(VoltaRunPlan, NeedsLessMemoryThanSumsOfAllQueries) {
  const Problem problem = long_problem(MaskSpec::window(128));
  EXPECT_EQ(backward_workspace_bytes_of_grid(problem, false),
            statistics_bytes(problem) + std::size_t{32} * 5 * 256 * 64 * 4);
  EXPECT_EQ(backward_workspace_bytes_of_grid(problem, true),
            backward_workspace_bytes_of_grid(problem, false));
  for (const int window : {1, 64, 128, 256, 512}) {
    for (const int seqlen : {2048, 4096, 16384, 65536}) {
      const Problem other = long_problem(MaskSpec::window(window), seqlen);
      EXPECT_LE(backward_workspace_bytes_of_grid(other, false),
                backward_workspace_bytes(other, false));
    }
  }
}

}  // namespace
}  // namespace sparkbench::volta
