// dQ in relay on the emulated V100: gradients are the definition's, and dQ has the same bits
// whatever slots there are and in whatever order warps run.
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/same_bits.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/emulated.h"
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

  Gradients run(Accumulator accumulator, int slot_bits, std::uint64_t schedule_seed = 0) const {
    return into([&](const BackwardTensors& tensors) {
      return emulate_backward_relay(accumulator, request_of(tensors, false), options(schedule_seed),
                                    slot_bits, {});
    });
  }
  Gradients run_pass(Accumulator accumulator, bool is_deterministic,
                     const BackwardSample& sample = {}) const {
    return into([&](const BackwardTensors& tensors) {
      return emulate_backward(accumulator, request_of(tensors, is_deterministic), options(0),
                              sample);
    });
  }

 private:
  PlanRequest request_of(const BackwardTensors& tensors, bool is_deterministic) const {
    return {problem_, EmulationOptions{}.shared_bytes_per_block, nullptr, &tensors,
            is_deterministic};
  }
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

void expect_correct(Accumulator accumulator, const Problem& problem, const Case& made,
                    const Gradients& got, const GradientRows& rows) {
  const ExactGradients want = exact_backward(problem, made.inputs(), rows);
  const HalfGradients unfused =
      unfused_backward(problem, made.inputs(), rows, {arithmetic_profile("volta"), accumulator});
  const GradientErrors error =
      gradient_errors(gather_gradients(problem, {got.dq, got.dk, got.dv}, rows), want);
  EXPECT_EQ(why_incorrect(error, gradient_errors(unfused, want), {}), "");
}

struct Shape {
  int seqlen_q, seqlen_k, heads, heads_k;
};

/// Ends within steps and between them, keys that no query sees, and groups of query heads.
constexpr Shape kShapes[] = {
    {320, 320, 2, 2}, {131, 333, 3, 1}, {250, 257, 1, 1}, {449, 449, 2, 1}};
/// On both sides of a step and of a block, with keys behind a query, and all keys.
constexpr MaskSpec kMasks[] = {
    MaskSpec::window(1),    MaskSpec::window(33),  MaskSpec::window(64),  MaskSpec::window(65),
    MaskSpec::window(128),  MaskSpec::window(200), MaskSpec::band(20, 5), MaskSpec::band(64, 64),
    MaskSpec::band(0, 100), MaskSpec::causal(),    MaskSpec::full()};

class VoltaBackwardRelay : public testing::TestWithParam<std::tuple<Accumulator, int, float>> {};

/// Each mask with one of the shapes, at up to 64 columns and at more: half of the masks without
/// dropout, the other half with it. Nightly all.
TEST_P(VoltaBackwardRelay, HasTheSameBitsWithHoweverFewSlots) {
  constexpr std::size_t kShapeCount = std::size(kShapes);
  const auto [accumulator, head_dim, dropout_p] = GetParam();
  for (std::size_t s = 0; s < kShapeCount; ++s) {
    for (std::size_t m = 0; m < std::size(kMasks); ++m) {
      if (!is_tried(s + m + (dropout_p > 0 ? kShapeCount : 0), 2 * kShapeCount)) continue;
      const Shape& shape = kShapes[s];
      const MaskSpec& mask = kMasks[m];
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
      const Gradients all = made.run(accumulator, all_step_bits(problem));
      EXPECT_EQ(all.report.findings_total, 0u)
          << (all.report.findings.empty() ? "" : all.report.findings.front().message);
      EXPECT_EQ(all.report.counters.bank_conflicts, 0u);
      expect_correct(accumulator, problem, made, all, all_gradient_rows(problem));
      const Gradients few = made.run(accumulator, relay_slot_bits(problem, 0), 5);
      EXPECT_EQ(few.report.findings_total, 0u)
          << (few.report.findings.empty() ? "" : few.report.findings.front().message);
      if (head_dim <= 64) {
        EXPECT_TRUE(same_bits(all.dq, few.dq));
      } else {
        expect_correct(accumulator, problem, made, few, all_gradient_rows(problem));
      }
      EXPECT_TRUE(same_bits(all.dk, few.dk));
      EXPECT_TRUE(same_bits(all.dv, few.dv));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, VoltaBackwardRelay,
                         testing::ValuesIn(with_nightly<std::tuple<Accumulator, int, float>>(
                             {{Accumulator::kFp16, 64, 0.0f},
                              {Accumulator::kFp32, 64, 0.17f},
                              {Accumulator::kFp16, 104, 0.0f},
                              {Accumulator::kFp32, 128, 0.17f}},
                             {{Accumulator::kFp16, 40, 0.17f}, {Accumulator::kFp32, 40, 0.0f}})));

/// A step keeps its slot until its block of keys has walked all queries.
TEST(VoltaRelaySlots, OfMoreQueriesThanKeysAreNotAwaitedByTheirOwnBlock) {
  for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::band(0, 2000)}) {
    for (const int heads : {1, 3}) {
      SCOPED_TRACE(testing::Message() << name_of(mask) << ", " << heads << " heads");
      const Problem problem{.heads = heads,
                            .seqlen_q = 900,
                            .seqlen_k = 77,
                            .head_dim = 64,
                            .mask = mask,
                            .heads_k = 1};
      ASSERT_TRUE(has_relay(problem, false));
      const Case made(problem);
      const Gradients got = made.run(Accumulator::kFp32, relay_slot_bits(problem, 0), 3);
      EXPECT_EQ(got.report.findings_total, 0u)
          << (got.report.findings.empty() ? "" : got.report.findings.front().message);
      expect_correct(Accumulator::kFp32, problem, made, got, all_gradient_rows(problem));
    }
  }
}

/// Blocks of more queries than keys prepare them.
TEST(VoltaRelayStatistics, OfMoreQueriesThanKeysAreTheDefinitions) {
  for (const int head_dim : {64, 128}) {
    const Problem problem{.heads = 3,
                          .seqlen_q = 200,
                          .seqlen_k = 77,
                          .head_dim = head_dim,
                          .mask = MaskSpec::full(),
                          .heads_k = 1};
    ASSERT_TRUE(has_relay(problem, false));
    ASSERT_TRUE(prepares_statistics(head_dim, problem.key_mask()));
    const Case made(problem);
    const Gradients got = made.run(Accumulator::kFp32, relay_slot_bits(problem, 0), 3);
    EXPECT_EQ(got.report.findings_total, 0u)
        << (got.report.findings.empty() ? "" : got.report.findings.front().message);
    expect_correct(Accumulator::kFp32, problem, made, got, all_gradient_rows(problem));
  }
}

/// A problem of few tokens, which may have no relay.
Problem random_band(std::mt19937& random) {
  const auto from = [&](int least, int most) {
    return std::uniform_int_distribution(least, most)(random);
  };
  Problem problem;
  problem.batch = from(1, 2);
  const auto [group, heads_k] = std::array<int, 2>{from(1, 3), from(1, 2)};
  problem.heads = group * heads_k;
  problem.heads_k = heads_k;
  problem.seqlen_q = from(1, 300);
  problem.seqlen_k = problem.seqlen_q + from(0, 100);
  problem.head_dim = 8 * (from(0, 2) == 0 ? from(13, 16) : from(5, 8));
  problem.mask = MaskSpec::band(from(0, 200), from(0, 90));
  problem.dropout_p = from(0, 1) == 0 ? 0.0f : 0.1f;
  return problem;
}

TEST(VoltaBackwardRelayOfRandomBands, IsTheDefinitions) {
  std::mt19937 random(20);
  int tried = 0;
  while (tried < (is_nightly() ? 40 : 10)) {
    Problem problem = random_band(random);
    problem.seed = static_cast<std::uint64_t>(tried);
    if (!has_relay(problem, false)) continue;
    ++tried;
    SCOPED_TRACE(testing::Message()
                 << name_of(problem.mask) << ", " << problem.seqlen_q << " x " << problem.seqlen_k
                 << ", " << problem.heads << " heads of " << problem.head_dim);
    const auto accumulator = tried % 2 == 0 ? Accumulator::kFp16 : Accumulator::kFp32;
    const Case made(problem);
    const Gradients got = made.run(accumulator, relay_slot_bits(problem, 0), 1 + problem.seed);
    EXPECT_EQ(got.report.findings_total, 0u)
        << (got.report.findings.empty() ? "" : got.report.findings.front().message);
    expect_correct(accumulator, problem, made, got, all_gradient_rows(problem));
  }
}

TEST(VoltaRelaySamples, HaveTheBitsOfThePass) {
  for (const int heads_k : {4, 2}) {
    const Problem problem{.heads = 4,
                          .seqlen_q = 1000,
                          .seqlen_k = 1100,
                          .head_dim = 40,
                          .mask = MaskSpec::window(150),
                          .seed = 3,
                          .heads_k = heads_k};
    ASSERT_TRUE(has_relay(problem, false));
    const Case made(problem);
    const int group = problem.group_size();
    const BackwardSample sample{.query_tiles = {{0, 1, 0}, {3, 3, 0}, {4, 3, 0}, {7, 0, 0}},
                                .key_tiles = {{0, 1, 0}, {6, 0, 0}, {8, 0, 0}, {2, 3 / group, 0}}};
    const Gradients want = made.run_pass(Accumulator::kFp32, false);
    const Gradients got = made.run_pass(Accumulator::kFp32, false, sample);
    EXPECT_EQ(want.report.findings_total, 0u);
    EXPECT_EQ(got.report.findings_total, 0u)
        << (got.report.findings.empty() ? "" : got.report.findings.front().message);
    EXPECT_TRUE(got.report.is_sample);
    // What the grid counts is told once, by the blocks of one of the launches.
    const auto products = [](const EmulationReport& report) {
      return static_cast<double>(report.grid_counters.mma_m8n8k4);
    };
    EXPECT_NEAR(products(got.report) / products(want.report), 1.0, 0.25);
    const auto expect_rows = [&](const std::vector<SampleTile>& tiles, int seqlen, int heads,
                                 const std::vector<Half>& a, const std::vector<Half>& b) {
      for (const SampleTile& tile : tiles) {
        const int end = std::min(seqlen, kSampleRows * (tile[0] + 1));
        for (int row = kSampleRows * tile[0]; row < end; ++row) {
          const std::size_t at = row_offset(0, row, tile[1], seqlen, heads, 40);
          for (std::size_t d = 0; d < 40; ++d) {
            ASSERT_EQ(a[at + d].bits, b[at + d].bits) << "row " << row << " of head " << tile[1];
          }
        }
      }
    };
    expect_rows(sample.query_tiles, 1000, 4, want.dq, got.dq);
    expect_rows(sample.key_tiles, 1100, heads_k, want.dk, got.dk);
    expect_rows(sample.key_tiles, 1100, heads_k, want.dv, got.dv);
  }
}

}  // namespace
}  // namespace sparkbench::volta
