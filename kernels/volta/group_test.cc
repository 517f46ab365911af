// Grouped queries in the Volta kernels, on the emulated V100: against the definition, and against
// the same problem with keys and values repeated for each head.
#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/same_bits.h"
#include "kernels/testing/test_problems.h"
#include "kernels/volta/backward/walk.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

constexpr int kHeads = 4;

const AttentionKernel& kernel_of(Accumulator accumulator) {
  return *find_attention_kernel(accumulator == Accumulator::kFp16 ? "volta-fp16acc"
                                                                  : "volta-fp32acc");
}

EmulationOptions options_of(std::uint64_t schedule_seed, std::size_t shared_bytes) {
  return {.profile = &arithmetic_profile("volta"),
          .schedule_seed = schedule_seed,
          .shared_bytes_per_block = shared_bytes};
}

/// A problem with its inputs, and a forward pass to start gradients from.
struct GroupCase {
  Problem problem;
  OwnedInputs inputs;
  std::vector<Half> d_o;
  RoundedForward forward;

  explicit GroupCase(const Problem& of)
      : problem(of),
        inputs(make_inputs(problem, Distribution::kNormal, 7)),
        d_o(make_gradient_input(problem, Distribution::kNormal, 7)),
        forward(rounded_forward(problem, inputs.view(), all_rows(problem))) {}
  BackwardInputs view() const {
    return {inputs.q, inputs.k, inputs.v, d_o, forward.o, forward.lse};
  }
  /// Each head with keys and values of its own.
  GroupCase expanded() const {
    GroupCase twin = *this;
    twin.problem.heads_k = problem.heads;
    twin.inputs.k = repeated(inputs.k);
    twin.inputs.v = repeated(inputs.v);
    return twin;
  }

 private:
  std::vector<Half> repeated(const std::vector<Half>& keys) const {
    std::vector<Half> result;
    for (int token = 0; token < problem.batch * problem.seqlen_k; ++token) {
      for (int head = 0; head < problem.heads; ++head) {
        const std::size_t at =
            row_offset(0, token, problem.key_head(head), 0, problem.key_heads(), problem.head_dim);
        const auto row = std::span(keys).subspan(at, static_cast<std::size_t>(problem.head_dim));
        result.insert(result.end(), row.begin(), row.end());
      }
    }
    return result;
  }
};

struct Rows {
  std::vector<Half> o;
  std::vector<float> lse;
  EmulationReport report;
};

Rows run_forward(Accumulator accumulator, const GroupCase& made) {
  Rows rows{std::vector<Half>(made.problem.q_elements(), Half{0x7fff}),
            std::vector<float>(made.problem.lse_elements(), NAN),
            {}};
  rows.report =
      emulate_forward(kernel_of(accumulator), made.problem,
                      contiguous_tensors(made.problem, made.inputs.q.data(), made.inputs.k.data(),
                                         made.inputs.v.data(), rows.o.data(), rows.lse.data()),
                      options_of(0, EmulationOptions{}.shared_bytes_per_block), {});
  return rows;
}

struct Run {
  bool is_deterministic = false;
  std::uint64_t schedule_seed = 0;
  BackwardSample sample = {};
  std::size_t shared_bytes = EmulationOptions{}.shared_bytes_per_block;
};

struct GroupOutputs {
  std::vector<Half> dq, dk, dv;
  EmulationReport report;

  GradientTensors view() const { return {dq, dk, dv}; }
};

GroupOutputs run_backward(Accumulator accumulator, const GroupCase& made, const Run& run) {
  const Problem& problem = made.problem;
  const Half poison{0x7fff};
  GroupOutputs out{std::vector<Half>(problem.q_elements(), poison),
                   std::vector<Half>(problem.k_elements(), poison),
                   std::vector<Half>(problem.k_elements(), poison),
                   {}};
  out.report = emulate_backward(
      kernel_of(accumulator), problem,
      contiguous_tensors(problem, made.inputs.q.data(), made.inputs.k.data(), made.inputs.v.data(),
                         made.forward.o.data(), made.d_o.data(), made.forward.lse.data(),
                         out.dq.data(), out.dk.data(), out.dv.data()),
      options_of(run.schedule_seed, run.shared_bytes), run.is_deterministic, run.sample);
  return out;
}

void expect_no_findings(const EmulationReport& report) {
  EXPECT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
  EXPECT_EQ(report.counters.bank_conflicts, 0u);
}

void expect_correct(Accumulator accumulator, const GroupCase& made, const GradientRows& rows,
                    const Run& run) {
  const GroupOutputs outputs = run_backward(accumulator, made, run);
  expect_no_findings(outputs.report);
  const ExactGradients want = exact_backward(made.problem, made.view(), rows);
  const HalfGradients unfused =
      unfused_backward(made.problem, made.view(), rows, {arithmetic_profile("volta"), accumulator});
  const GradientErrors error =
      gradient_errors(gather_gradients(made.problem, outputs.view(), rows), want);
  EXPECT_EQ(why_incorrect(error, gradient_errors(unfused, want), {}), "")
      << "rel_l2 dq " << error.dq.rel_l2 << ", dk " << error.dk.rel_l2 << ", dv "
      << error.dv.rel_l2;
}

Problem problem_of(int heads_k, int head_dim, Lengths lengths) {
  return {.batch = 2,
          .heads = kHeads,
          .seqlen_q = lengths.seqlen_q,
          .seqlen_k = lengths.seqlen_k,
          .head_dim = head_dim,
          .mask = MaskSpec::causal(),
          .dropout_p = 0.17f,
          .seed = 11,
          .heads_k = heads_k};
}

/// An accumulator, a head_dim, and how many heads keys have.
class VoltaGroups : public testing::TestWithParam<std::tuple<Accumulator, int, int>> {
 protected:
  Accumulator accumulator_ = std::get<0>(GetParam());
  int head_dim_ = std::get<1>(GetParam());
  int heads_k_ = std::get<2>(GetParam());
};

TEST_P(VoltaGroups, ForwardHasTheExpandedBits) {
  for (const Lengths lengths : {Lengths{45, 77}, Lengths{131, 70}}) {
    const GroupCase made(problem_of(heads_k_, head_dim_, lengths));
    const Rows got = run_forward(accumulator_, made);
    const Rows want = run_forward(accumulator_, made.expanded());
    expect_no_findings(got.report);
    EXPECT_TRUE(same_bits(got.o, want.o));
    EXPECT_EQ(got.lse, want.lse);
  }
}

/// Lengths of one step a head, which the teams of head_dim 64 share out, of an odd number of them,
/// and of several blocks of keys.
TEST_P(VoltaGroups, BackwardMatchesTheDefinition) {
  auto cell = static_cast<std::size_t>(head_dim_ / 64 + heads_k_);
  for (const Lengths lengths : {Lengths{20, 45}, Lengths{77, 150}}) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::window(19), MaskSpec::prefix(40)}) {
      if (!is_tried(cell++, 2)) continue;
      SCOPED_TRACE(testing::Message() << lengths.seqlen_k << " keys, " << name_of(mask));
      Problem problem = problem_of(heads_k_, head_dim_, lengths);
      problem.mask = mask;
      problem.dropout_p = mask == MaskSpec::window(19) ? 0.0f : 0.17f;
      const GroupCase made(problem);
      for (const bool is_deterministic : {false, true}) {
        expect_correct(accumulator_, made, all_gradient_rows(problem),
                       {.is_deterministic = is_deterministic});
      }
    }
  }
}

TEST_P(VoltaGroups, BackwardMatchesTheDefinitionIn64KiB) {
  if (head_dim_ > 128) GTEST_SKIP() << "no kernel of 64 KiB is for this head_dim";
  const GroupCase made(problem_of(heads_k_, head_dim_, {77, 150}));
  for (const bool is_deterministic : {false, true}) {
    expect_correct(accumulator_, made, all_gradient_rows(made.problem),
                   {.is_deterministic = is_deterministic, .shared_bytes = 64 << 10});
  }
}

TEST_P(VoltaGroups, DeterministicBitsDependOnNoSchedule) {
  const GroupCase made(problem_of(heads_k_, head_dim_, {77, 150}));
  const GroupOutputs first = run_backward(accumulator_, made, {.is_deterministic = true});
  const GroupOutputs again =
      run_backward(accumulator_, made, {.is_deterministic = true, .schedule_seed = 5});
  EXPECT_TRUE(same_bits(first.dq, again.dq));
  EXPECT_TRUE(same_bits(first.dk, again.dk));
  EXPECT_TRUE(same_bits(first.dv, again.dv));
  const GroupOutputs expanded =
      run_backward(accumulator_, made.expanded(), {.is_deterministic = true});
  EXPECT_TRUE(same_bits(first.dq, expanded.dq));
  const GroupOutputs atomic = run_backward(accumulator_, made, {.schedule_seed = 9});
  EXPECT_TRUE(same_bits(first.dk, atomic.dk));
  EXPECT_TRUE(same_bits(first.dv, atomic.dv));
}

/// Tiles of queries of two heads of one group, whose partial sums must not be added twice.
TEST_P(VoltaGroups, SamplesAreCorrect) {
  const Problem problem = problem_of(heads_k_, head_dim_, {150, 140});
  const GroupCase made(problem);
  const BackwardSample sample{.query_tiles = {{1, 2, 1}, {1, 3, 1}},
                              .key_tiles = {{1, heads_k_ - 1, 1}}};
  GradientRows rows;
  for (const int head : {2, 3}) {
    for (int row = 128; row < 150; ++row) rows.dq.push_back({1, head, row});
  }
  for (int row = 128; row < 140; ++row) rows.dkv.push_back({1, heads_k_ - 1, row});
  for (const bool is_deterministic : {false, true}) {
    SCOPED_TRACE(is_deterministic);
    expect_correct(accumulator_, made, rows,
                   {.is_deterministic = is_deterministic, .sample = sample});
  }
}

INSTANTIATE_TEST_SUITE_P(Instances, VoltaGroups,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::ValuesIn(with_nightly<int>({64, 128}, {96})),
                                          testing::Values(1, 2)));
INSTANTIATE_TEST_SUITE_P(WideInstances, VoltaGroups,
                         testing::ValuesIn(with_nightly<std::tuple<Accumulator, int, int>>(
                             {{Accumulator::kFp32, 256, 2}}, {{Accumulator::kFp32, 256, 1},
                                                              {Accumulator::kFp16, 256, 1},
                                                              {Accumulator::kFp16, 256, 2}})));

TEST(GroupWalk, GivesEachStepOfEachHeadItsPlace) {
  const volta::GroupWalk walk = volta::group_walk(1000, 2, 5);
  EXPECT_EQ(walk.member(walk.first), 2);
  EXPECT_EQ(walk.member(walk.last), 4);
  EXPECT_EQ(walk.query(walk.first), 0);
  const int behind_the_last_query = walk.first + 1024 + 32;
  EXPECT_EQ(walk.member(behind_the_last_query), 2);
  EXPECT_EQ(walk.query(behind_the_last_query), 1056);
  EXPECT_EQ(walk.first_of_next(behind_the_last_query), 3 << walk.shift);
}

TEST(GroupWalk, HasRoomForTheLongestAndRefusesMore) {
  EXPECT_EQ(volta::group_walk((1 << 30) - 1, 0, 1).last, 0);
  EXPECT_EQ(volta::group_walk(1 << 14, 0, 65535).member(65534 << 15), 65534);
  EXPECT_THROW(volta::group_walk(1 << 20, 0, 4096), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
