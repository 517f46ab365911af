#include "harness/model/predict/pass_launches.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "harness/model/predict/test_pass_launches.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

std::vector<std::string> ids_of(const std::vector<PassLaunch>& launches) {
  std::vector<std::string> ids;
  for (const PassLaunch& launch : launches) {
    ids.emplace_back(launch.instance == nullptr ? "memset" : launch.instance->id);
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

/// A backward pass over 4096 rows and keys, full mask, FP32-ACC: names without the kernel's.
std::vector<std::string> backward_ids(int head_dim, float dropout_p, bool is_deterministic) {
  const Problem problem = problem_of(4096, 4096, MaskSpec::full(), head_dim, dropout_p);
  std::vector<std::string> ids = ids_of(
      launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kBackward, is_deterministic));
  for (std::string& id : ids) id.erase(0, id.starts_with("volta") ? id.find('/') + 1 : 0);
  return ids;
}

TEST(PassLaunches, OfABackwardPassSumDqAndRoundIt) {
  using Ids = std::vector<std::string>;
  EXPECT_EQ(backward_ids(64, 0, false),
            (Ids{"bwd-statistics/d64", "memset", "bwd/d64", "bwd-round-dq/d64"}));
  EXPECT_EQ(backward_ids(120, 0.1f, false),
            (Ids{"bwd-statistics/d128", "memset", "bwd/d128/dropout", "bwd-round-dq/d128"}));
  EXPECT_EQ(backward_ids(160, 0, false),
            (Ids{"bwd-statistics/d256", "memset", "bwd/d256", "bwd-round-dq/d256"}));
}

TEST(PassLaunches, OfADeterministicPassComputeDqAlone) {
  using Ids = std::vector<std::string>;
  EXPECT_EQ(backward_ids(64, 0.1f, true),
            (Ids{"bwd-statistics/d64", "bwd/d64/dropout/deterministic", "bwd-dq/d64/dropout"}));
  EXPECT_EQ(backward_ids(40, 0, true),
            (Ids{"bwd-statistics/d64", "bwd/d64/padded/deterministic", "bwd-dq/d64/padded"}));
}

TEST(PassLaunches, OfADropoutThatDropsNothingHaveNone) {
  // Thresholds are in 256ths: 1e-4 rounds to 0.
  EXPECT_EQ(backward_ids(80, 1e-4f, false), backward_ids(80, 0, false));
  EXPECT_EQ(backward_ids(80, 1e-4f, false)[2], "bwd/d80");
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

TEST(PassLaunches, OfPatternsAddDqUpUnlessDeterministic) {
  Problem problem = problem_of(4096, 4096, MaskSpec::full(), 64);
  const auto backward = [&](std::string_view spec, bool is_deterministic) {
    problem.sparse = make_sparse_mask(spec, 4096, 4096);
    return ids_of(
        launches_of_pass(kernel_of("volta-fp16acc"), problem, Pass::kBackward, is_deterministic));
  };
  using Ids = std::vector<std::string>;
  const std::string statistics = "volta-fp16acc/bwd-statistics/d64";
  EXPECT_EQ(backward("blocked:128", false),
            (Ids{statistics, "memset", "volta-fp16acc/bwd/d64/sparse",
                 "volta-fp16acc/bwd-round-dq/d64"}));
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
