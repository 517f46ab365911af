// The forward kernel of test_forward.h on the emulated machine, against the definition.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "kernels/launch/forward_launch.h"
#include "kernels/launch/pass_regions.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/testing/test_problems.h"
#include "kernels/tile/test_forward.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

struct Outputs {
  std::vector<Half> o;
  std::vector<float> lse;
  EmulationReport report;
};

template <class Config>
EmulationReport emulate(const Problem& problem, const ForwardTensors& tensors,
                        const EmulationOptions& options, std::span<const SampleTile> tiles) {
  const ForwardParams params = forward_params(problem, tensors);
  const ForwardGrid grid{"test",
                         Config::kThreads,
                         sizeof(TestForwardTiles<Config>),
                         Config::kBlockM,
                         {Config::kBlockN}};
  return emulate(forward_shape(problem, grid, tiles), forward_regions(problem, tensors), options,
                 [&](EmulatedMachine& machine) { test_forward<Config>(machine, params); });
}

constexpr Half kPoison{0x7fff};

Outputs run_forward_tile(std::string_view profile, const Problem& problem,
                         const OwnedInputs& inputs, std::span<const SampleTile> tiles = {}) {
  Outputs outputs{std::vector<Half>(problem.q_elements(), kPoison),
                  std::vector<float>(problem.lse_elements(), -7.0f),
                  {}};
  const ForwardTensors tensors =
      contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                         outputs.o.data(), outputs.lse.data());
  const EmulationOptions options{.profile = &arithmetic_profile(profile)};
  outputs.report = problem.dropout().threshold == 0
                       ? emulate<TestForwardConfig<false>>(problem, tensors, options, tiles)
                       : emulate<TestForwardConfig<true>>(problem, tensors, options, tiles);
  return outputs;
}

class TileForward : public testing::TestWithParam<std::tuple<std::string_view, Lengths>> {};

TEST_P(TileForward, MatchesTheDefinitionForEveryMaskAndDropout) {
  const auto [profile, lengths] = GetParam();
  for_every_mask_and_some_dropout(64, lengths, [&](const Problem& problem) {
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
    const Outputs outputs = run_forward_tile(std::get<0>(GetParam()), problem, inputs);
    EXPECT_EQ(outputs.report.findings_total, 0u);
    EXPECT_GT(outputs.report.counters.mma_m16n8k16, 0u);
    const std::vector<QueryRow> rows = all_rows(problem);
    const ExactRows want = exact_forward(problem, inputs.view(), rows);
    const ForwardRows unfused =
        unfused_forward(problem, inputs.view(), rows,
                        {arithmetic_profile(std::get<0>(GetParam())), Accumulator::kFp32});
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, outputs.o, outputs.lse, rows), want);
    EXPECT_EQ(why_incorrect(error, error_metrics(unfused, want), {}), "");
  });
}

INSTANTIATE_TEST_SUITE_P(Lengths, TileForward,
                         testing::Combine(testing::Values("ampere", "hopper"),
                                          testing::Values(Lengths{1, 1}, Lengths{63, 31},
                                                          Lengths{64, 32}, Lengths{65, 33},
                                                          Lengths{131, 131}, Lengths{2, 193},
                                                          Lengths{193, 5})));

TEST(TileForwardSample, IsEveryBlockOfATile) {
  const Problem problem{
      .heads = 2, .seqlen_q = 300, .seqlen_k = 70, .head_dim = 64, .mask = MaskSpec::causal()};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const Outputs whole = run_forward_tile("ampere", problem, inputs);
  for (const int tile : {1, 2}) {
    const SampleTile sample{tile, 1, 0};
    const Outputs some = run_forward_tile("ampere", problem, inputs, {&sample, 1});
    for (const QueryRow& row : all_rows(problem)) {
      const bool is_computed = row.head == 1 && row.row / kSampleRows == tile;
      const std::size_t at = row_offset(row.batch, row.row, row.head, problem.seqlen_q,
                                        problem.heads, problem.head_dim);
      EXPECT_EQ(some.o[at].bits, is_computed ? whole.o[at].bits : kPoison.bits) << row.row;
    }
  }
}

}  // namespace
}  // namespace sparkbench
