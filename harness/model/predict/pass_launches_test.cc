#include "harness/model/predict/pass_launches.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "harness/model/predict/test_pass_launches.h"
#include "harness/model/predict/v100_constants.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench {
namespace {

std::vector<std::string> ids_of(const std::vector<PassLaunch>& launches) {
  std::vector<std::string> ids;
  for (const PassLaunch& launch : launches) {
    ids.emplace_back(launch.instance == nullptr ? "memset" : launch.instance->id);
  }
  return ids;
}

/// What kernels/volta/backward_gpu.cu launches.
std::vector<std::string> ids_by_dispatch(const Problem& problem, bool is_deterministic) {
  const volta::Wanted wanted{problem, kV100SharedBytes};
  std::vector<std::string> ids;
  const auto add = [&](auto /*row*/, auto id) { ids.emplace_back(id); };
  const bool has_relay = volta::has_relay(problem, is_deterministic);
  if (has_relay && volta::prepares_statistics(problem.head_dim, problem.key_mask())) {
    ids.emplace_back("memset");
  } else {
    volta::visit_statistics(Accumulator::kFp16, wanted, add);
  }
  if (has_relay) {
    ids.emplace_back("memset");
    volta::visit_backward_relay(Accumulator::kFp16, wanted, add);
    return ids;
  }
  if (!is_deterministic) ids.emplace_back("memset");
  volta::visit_backward(Accumulator::kFp16, !is_deterministic, wanted, add);
  if (is_deterministic) {
    volta::visit_backward_dq(Accumulator::kFp16, wanted, add);
  } else {
    volta::visit_round_dq(Accumulator::kFp16, wanted, add);
  }
  return ids;
}

TEST(PassLaunches, OfAPaddedHeadDimAreThoseOfItsTile) {
  const auto launches_of = [](int head_dim) {
    return launches_of_pass(kernel_of("volta-fp32acc"),
                            problem_of(300, 300, MaskSpec::causal(), head_dim), Pass::kBackward,
                            false);
  };
  const std::vector<PassLaunch> narrow = launches_of(88), wide = launches_of(96);
  ASSERT_EQ(narrow.size(), wide.size());
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_EQ(narrow[i].instance, wide[i].instance);
    EXPECT_EQ(narrow[i].grid.of_head.size(), wide[i].grid.of_head.size());
  }
  // The sums of dQ have as many columns; q, k, v, dO, dK and dV have fewer.
  EXPECT_EQ(narrow[1].hbm_bytes, wide[1].hbm_bytes);
  EXPECT_LT(narrow[2].hbm_bytes, wide[2].hbm_bytes);
}

TEST(PassLaunches, AreThoseOfTheBackwardPass) {
  for (const int head_dim : {8, 40, 64, 80, 120, 128, 160, 256}) {
    for (const float dropout_p : {0.0f, 0.1f, 1e-4f}) {  // the last drops nothing in 256ths
      for (const MaskSpec& mask : {MaskSpec::causal(), MaskSpec::window(100)}) {
        const Problem problem = problem_of(300, 300, mask, head_dim, dropout_p);
        for (const bool is_deterministic : {false, true}) {
          EXPECT_EQ(ids_of(launches_of_pass(kernel_of("volta-fp16acc"), problem, Pass::kBackward,
                                            is_deterministic)),
                    ids_by_dispatch(problem, is_deterministic));
        }
      }
    }
  }
}

TEST(PassLaunches, OfForwardKernelsAreOneEach) {
  const Problem long_blocks = problem_of(500, 500, MaskSpec::full(), 128, 0.1f),
                short_blocks = problem_of(300, 300, MaskSpec::causal(), 128, 0.1f);
  for (const std::string name : {"volta-fp16acc", "volta-fp32acc"}) {
    const AttentionKernel& kernel = kernel_of(name);
    const std::string id = name + "/fwd/d128/dropout";
    EXPECT_EQ(ids_of(launches_of_pass(kernel, long_blocks, Pass::kForward, false)),
              std::vector<std::string>{id});
    EXPECT_EQ(ids_of(launches_of_pass(kernel, short_blocks, Pass::kForward, false)),
              std::vector<std::string>{id + "/short"});
  }
}

TEST(PassLaunches, OfWindowsHaveShortBlocksUpToTheirThresholds) {
  const auto ids = [](const std::string& name, int window, int head_dim) {
    const Problem problem = problem_of(4096, 4096, MaskSpec::window(window), head_dim);
    return ids_of(launches_of_pass(kernel_of(name), problem, Pass::kForwardBackward, true));
  };
  using Ids = std::vector<std::string>;
  for (const std::string name : {"volta-fp16acc", "volta-fp32acc"}) {
    const std::string of_rows = name + "/bwd-statistics/d64", bwd = name + "/bwd/d64",
                      dq = name + "/bwd-dq/d64", fwd = name + "/fwd/d64";
    const Ids all_short = {fwd + "/short", of_rows, bwd + "/short/deterministic", dq + "/short"};
    EXPECT_EQ(ids(name, 512, 40), all_short);
    EXPECT_EQ(ids(name, 512, 64), all_short);
    EXPECT_EQ(ids(name, 1024, 64), all_short);
    EXPECT_EQ(ids(name, 2049, 64), (Ids{fwd, of_rows, bwd + "/deterministic", dq}));
  }
  EXPECT_EQ(ids("volta-fp16acc", 2048, 64)[0], "volta-fp16acc/fwd/d64/short");
  EXPECT_EQ(ids("volta-fp32acc", 1025, 64),
            (Ids{"volta-fp32acc/fwd/d64", "volta-fp32acc/bwd-statistics/d64",
                 "volta-fp32acc/bwd/d64/short/deterministic", "volta-fp32acc/bwd-dq/d64/short"}));
}

TEST(PassLaunches, OfWindowsRelayDqUnlessDeterministic) {
  using Ids = std::vector<std::string>;
  const Problem problem = problem_of(4096, 4096, MaskSpec::window(1024), 40);
  EXPECT_EQ(ids_of(launches_of_pass(kernel_of("volta-fp16acc"), problem, Pass::kBackward, false)),
            (Ids{"memset", "memset", "volta-fp16acc/bwd/d64/relay"}));
}

TEST(PassLaunches, OfShortSequencesRelayDqFromTheLastOfTheirBlocksOf64Keys) {
  const auto launches = launches_of_pass(
      kernel_of("volta-fp32acc"), problem_of(300, 300, MaskSpec::causal()), Pass::kBackward, false);
  EXPECT_EQ(ids_of(launches),
            (std::vector<std::string>{"memset", "memset", "volta-fp32acc/bwd/d64/relay"}));
  const std::vector<BlockWork>& blocks = launches.back().grid.of_head;
  ASSERT_EQ(blocks.size(), 5u);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_GT(blocks[i].full_tiles, blocks[i - 1].full_tiles);
  }
}

TEST(PassLaunches, OfFullMasksHaveStatisticsBeforeARelay) {
  // The last block of keys would have all of the queries' to prepare.
  const auto launches = launches_of_pass(
      kernel_of("volta-fp32acc"), problem_of(300, 300, MaskSpec::full()), Pass::kBackward, false);
  EXPECT_EQ(ids_of(launches), (std::vector<std::string>{"volta-fp32acc/bwd-statistics/d64",
                                                        "memset", "volta-fp32acc/bwd/d64/relay"}));
}

TEST(PassLaunches, OfPatternsWithShortRowsRelayDqUnlessDeterministic) {
  Problem problem = problem_of(4096, 4096, MaskSpec::full(), 64);
  const auto backward = [&](std::string_view spec, bool is_deterministic) {
    problem.sparse = make_sparse_mask(spec, 4096, 4096);
    return ids_of(
        launches_of_pass(kernel_of("volta-fp16acc"), problem, Pass::kBackward, is_deterministic));
  };
  using Ids = std::vector<std::string>;
  const std::string statistics = "volta-fp16acc/bwd-statistics/d64";
  EXPECT_EQ(backward("blocked:128", false),
            (Ids{statistics, "memset", "volta-fp16acc/bwd/d64/relay/sparse"}));
  EXPECT_EQ(backward("blocked:128", true),
            (Ids{statistics, "volta-fp16acc/bwd/d64/sparse/deterministic",
                 "volta-fp16acc/bwd-dq/d64/sparse"}));
}

TEST(PassLaunches, OfATrainingStepAreBothPasses) {
  const Problem problem = problem_of(600, 600, MaskSpec::full());
  EXPECT_EQ(
      ids_of(launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kForwardBackward, false)),
      (std::vector<std::string>{"volta-fp32acc/fwd/d64", "volta-fp32acc/bwd-statistics/d64",
                                "memset", "volta-fp32acc/bwd/d64",
                                "volta-fp32acc/bwd-round-dq/d64"}));
}

}  // namespace
}  // namespace sparkbench
