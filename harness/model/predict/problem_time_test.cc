#include "harness/model/predict/problem_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "harness/model/predict/block_schedule.h"
#include "harness/model/predict/test_cycles.h"
#include "harness/model/predict/v100_constants.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

Problem timed_problem(int heads, int seqlen, const MaskSpec& mask = MaskSpec::full()) {
  return {.batch = 1,
          .heads = heads,
          .seqlen_q = seqlen,
          .seqlen_k = seqlen,
          .head_dim = 64,
          .mask = mask};
}

PassTime time_of(const Problem& problem, Pass pass, const CyclesFile& cycles = test_cycles(),
                 bool is_deterministic = false) {
  return time_of_launches(
      launches_of_pass(*find_attention_kernel("volta-fp32acc"), problem, pass, is_deterministic),
      cycles);
}

/// What the SMs take for it: of launches that have products, no byte is moved.
PassTime time_on_sms(const Problem& problem, Pass pass, const CyclesFile& cycles = test_cycles()) {
  auto launches = launches_of_pass(*find_attention_kernel("volta-fp32acc"), problem, pass, false);
  for (PassLaunch& launch : launches) {
    if (launch.instance != nullptr && launch.instance->products > 0) launch.hbm_bytes = 0;
  }
  return time_of_launches(launches, cycles);
}

/// The test's cycles with a loop of so many bytes.
CyclesFile with_loop(int bytes) {
  CyclesFile file = test_cycles();
  for (InstanceCycles& instance : file.instances) instance.loop_bytes = bytes;
  return file;
}

TEST(ProblemTime, OfOneBlockIsItsStages) {
  // 128 queries and keys: two tiles alone on an SM, 1000 + 2 * 2000 + 500 cycles.
  const PassTime time = time_on_sms(timed_problem(1, 128), Pass::kForward);
  EXPECT_DOUBLE_EQ(time.ms.likely, 5500 / 0.95 / 1380e3 + 2.5e-3);
  EXPECT_DOUBLE_EQ(time.ms.fast, 5500 / 1.05 / 1530e3 + 2.5e-3);
  EXPECT_DOUBLE_EQ(time.ms.slow, 5500 / 0.80 / 1380e3 + 2.5e-3);
  EXPECT_EQ(time.why_not, "");
}

TEST(ProblemTime, OfAWholeWaveIsThatOfTwoResidents) {
  // 160 blocks of 32 tiles: 1.5 times as long each.
  const PassTime time = time_on_sms(timed_problem(10, 2048), Pass::kForward);
  EXPECT_NEAR(time.ms.likely, 1.5 * (1500 + 32 * 2000) / 0.95 / 1380e3 + 2.5e-3, 1e-12);
  EXPECT_EQ(time.binding, "issue");
}

TEST(ProblemTime, APartOfTheShorterPhaseIsExposed) {
  // 10 heads of 2048: 160 blocks of 32 tiles, two on an SM; 256 rows of 4 tensors and LSE.
  const Problem problem = timed_problem(10, 2048);
  const ThreeWays sms = time_on_sms(problem, Pass::kForward).ms;
  const ThreeWays all = time_of(problem, Pass::kForward).ms;
  const double bytes = 10.0 * 2048 * (4 * 128 + 4);
  EXPECT_DOUBLE_EQ(all.fast, sms.fast);
  EXPECT_NEAR(all.likely, sms.likely + 0.5 * bytes / 760e6, 1e-9);
  EXPECT_NEAR(all.slow, sms.slow + bytes / 720e6, 1e-9);
  EXPECT_DOUBLE_EQ(exposed_share(1).likely, 0.5);  // loads ahead
  EXPECT_DOUBLE_EQ(exposed_share(3).likely, 1.0 / 3);
  EXPECT_DOUBLE_EQ(exposed_share(3).slow, 2.0 / 3);
}

TEST(ProblemTime, SmallLoopsAreBelievedMore) {
  const PassTime time = time_on_sms(timed_problem(1, 128), Pass::kForward, with_loop(12288));
  EXPECT_DOUBLE_EQ(time.ms.likely, 5500 / 0.98 / 1380e3 + 2.5e-3);
  EXPECT_DOUBLE_EQ(time.ms.slow, 1.2 * 5500 / 1380e3 + 2.5e-3);  // more than 5500 / 0.88
}

TEST(ProblemTime, GoesByTheCalibratedAssumption) {
  CyclesFile cycles = test_cycles();
  cycles.likely = ChipAssumption::kSupply16;  // 1.1 times the cycles
  const PassTime time = time_on_sms(timed_problem(1, 128), Pass::kForward, cycles);
  EXPECT_DOUBLE_EQ(time.ms.likely, 1.1 * 5500 / 0.95 / 1380e3 + 2.5e-3);
}

TEST(ProblemTime, SlowEndIsNoFasterThanAnyAssumption) {
  CyclesFile cycles = test_cycles();
  for (StageCycles& stages : cycles.instances[0].stages[3]) stages.full_tile = 10000;
  const PassTime time = time_on_sms(timed_problem(1, 128), Pass::kForward, cycles);
  EXPECT_DOUBLE_EQ(time.ms.slow, (1200 + 2 * 10000 + 600) / 1380e3 + 2.5e-3);
}

TEST(ProblemTime, TeamsAreOutOfStepLikeBlocks) {
  const auto instances = kernel_instances();
  const auto share = [&](const std::string& id, int blocks_per_sm, int loop_bytes) {
    InstanceCycles cycles = test_instance(id, blocks_per_sm);
    cycles.loop_bytes = loop_bytes;
    for (const KernelInstance& instance : instances) {
      if (instance.id == id) return share_of_model(instance, cycles).likely;
    }
    return 0.0;
  };
  EXPECT_EQ(share("volta-fp32acc/fwd/d64", 2, 27000), 0.95);
  EXPECT_EQ(share("volta-fp32acc/fwd/d64", 2, 12000), 0.98);
  EXPECT_EQ(share("volta-fp32acc/fwd/d128", 1, 49000), 0.98);
  EXPECT_EQ(share("volta-fp32acc/bwd/d64", 1, 27000), 0.95);
  EXPECT_EQ(share("volta-fp32acc/bwd/d128", 1, 27000), 0.98);
}

TEST(ProblemTime, LastWaveBindsWhatLeavesSmsIdle) {
  EXPECT_EQ(time_of(timed_problem(1, 2048), Pass::kForward).binding,
            "last wave");  // 16 of 160 places
}

TEST(ProblemTime, LaunchesBindWhatIsShort) {
  CyclesFile cycles = test_cycles();
  for (StageCycles& stages : cycles.instances[0].stages[0]) stages = {10, 20, 30, 5};
  EXPECT_EQ(time_of(timed_problem(1, 128), Pass::kForward, cycles).binding, "launch");
}

TEST(ProblemTime, HbmBindsWhatComputesLittle) {
  CyclesFile cycles = test_cycles();
  for (auto& assumption : cycles.instances[0].stages) {
    for (StageCycles& stages : assumption) stages = {1, 1, 1, 1};
  }
  // Four tensors of 64 x 128 x 64 and LSE: 4.1 MB and more, in each of 64 heads.
  const Problem problem = timed_problem(1024, 128);
  const PassTime time = time_of(problem, Pass::kForward, cycles);
  const double bytes = 1024.0 * 128 * (4 * 128 + 4);
  EXPECT_EQ(time.binding, "hbm");
  EXPECT_DOUBLE_EQ(time.ms.fast, bytes / 800e6 + 2.5e-3);
  EXPECT_NEAR(time.ms.likely, bytes / 760e6 + 2.5e-3, 1e-4);
  EXPECT_NEAR(time.ms.slow, bytes / 720e6 + 2.5e-3, 1e-4);
}

TEST(ProblemTime, L2BindsWhatReadsTilesOften) {
  CyclesFile cycles = test_cycles();
  for (auto& assumption : cycles.instances[0].stages) {
    for (StageCycles& stages : assumption) stages = {1, 1, 1, 1};
  }
  const PassTime time = time_of(timed_problem(8, 8192), Pass::kForward, cycles);
  const double bytes = 8.0 * (8192 * (2 * 128 + 4) + 64.0 * 8192 * 2 * 128);
  EXPECT_EQ(time.binding, "l2");
  EXPECT_NEAR(time.ms.likely, bytes / 2155e6 + 2.5e-3, 1e-3);
}

/// The fewest blocks of 128 keys, 5, of a full mask whose dQ is not in relay.
constexpr int kSummedSeqlen = 640;

TEST(ProblemTime, BackwardAddsItsLaunchesUp) {
  const Problem problem = timed_problem(1, kSummedSeqlen);
  const PassTime time = time_on_sms(problem, Pass::kBackward);
  // Each block has ten steps of both teams; around them rows, by their bytes.
  const double rows_bytes = kSummedSeqlen * ((2.0 * 128 + 4 + 8) + 256 + (256 + 128));
  EXPECT_NEAR(time.ms.likely, (1500 + 10 * 2000) / 0.95 / 1380e3 + rows_bytes / 760e6 + 4 * 2.5e-3,
              1e-12);
  const PassTime step = time_on_sms(problem, Pass::kForwardBackward);
  const PassTime forward = time_on_sms(problem, Pass::kForward);
  EXPECT_NEAR(step.ms.likely, time.ms.likely + forward.ms.likely, 1e-12);
}

TEST(ProblemTime, RowKernelsMayHaveCyclesToo) {
  CyclesFile cycles = test_cycles();
  const Problem problem = timed_problem(1, kSummedSeqlen);
  const double without = time_of(problem, Pass::kBackward, cycles).ms.likely;
  cycles.instances.push_back(test_instance("volta-fp32acc/bwd-statistics/d64", 2));
  const double with = time_of(problem, Pass::kBackward, cycles).ms.likely;
  EXPECT_GT(with, without);  // its blocks' prologues and epilogues
}

TEST(ProblemTime, SaysWhichCyclesAreMissing) {
  EXPECT_EQ(time_of(timed_problem(1, 128), Pass::kForward, {}).why_not,
            "no cycles of volta-fp32acc/fwd/d64 in kernels/volta/cycles.json");
  EXPECT_EQ(time_of(timed_problem(1, 128), Pass::kBackward, test_cycles(), true).why_not,
            "no cycles of volta-fp32acc/bwd/d64/deterministic in kernels/volta/cycles.json");
}

Problem grouped_problem(int batch, int heads, int heads_k, int seqlen) {
  Problem problem = timed_problem(heads, seqlen);
  problem.batch = batch;
  problem.heads_k = heads_k;
  return problem;
}

/// Cycles of the launch of dK and dV. Cycles are a hundred times the test's, so that no bytes bind
/// it. A block is alone on its SM.
double key_gradient_cycles(const Problem& problem) {
  CyclesFile slow = test_cycles();
  for (StageCycles& stages : slow.instances[2].stages[0]) {
    stages = {100'000, 200'000, 300'000, 50'000, 25'000};
  }
  auto launches =
      launches_of_pass(*find_attention_kernel("volta-fp32acc"), problem, Pass::kBackward, false);
  launches[2].hbm_bytes = 0;
  return (time_of_launches({launches[2]}, slow).ms.likely - 2.5e-3) * 0.95 * 1380e3 / 100;
}

TEST(ProblemTime, AGroupHasItsHeadsInOneBlock) {
  // 80 blocks of 128 keys, as many as SMs: ten tiles of each of 8 heads, and 7 ways to another.
  const auto of_key_heads = [](int heads_k) {
    return key_gradient_cycles(grouped_problem(16, 8, heads_k, kSummedSeqlen));
  };
  EXPECT_NEAR(of_key_heads(1), 1500 + 80 * 2000 + 7 * 250, 1e-6);
  EXPECT_NEAR(of_key_heads(2), 2 * (1500 + 40 * 2000 + 3 * 250), 1e-6);
  EXPECT_NEAR(of_key_heads(8), 8 * (1500 + 10 * 2000), 1e-6);
}

TEST(ProblemTime, FewKeyHeadsLeaveSmsIdle) {
  const Problem mqa = grouped_problem(1, 8, 1, 2048), mha = grouped_problem(1, 8, 8, 2048);
  EXPECT_NEAR(key_gradient_cycles(mqa), 1500 + 8 * 32 * 2000 + 7 * 250, 1e-6);  // 16 SMs of 80
  EXPECT_NEAR(key_gradient_cycles(mha), 2 * (1500 + 32 * 2000), 1e-6);  // 128 blocks: two waves
  EXPECT_EQ(time_of(mqa, Pass::kBackward).binding, "last wave");
  EXPECT_DOUBLE_EQ(time_on_sms(mqa, Pass::kForward).ms.likely,
                   time_on_sms(mha, Pass::kForward).ms.likely);
}

TEST(ProblemTime, SharedKeysComeFromHbmOnce) {
  CyclesFile cycles = test_cycles();
  for (auto& assumption : cycles.instances[0].stages) {
    for (StageCycles& stages : assumption) stages = {1, 1, 1, 1};
  }
  const auto bytes_of = [&](int heads_k) {
    const Problem problem = grouped_problem(1, 1024, heads_k, 128);
    return (time_of(problem, Pass::kForward, cycles).ms.likely - 2.5e-3) * 760e6;
  };
  const double queries = 1024.0 * 128 * (2 * 128 + 4), keys_of_head = 128.0 * 2 * 128;
  EXPECT_NEAR(bytes_of(1024), queries + 1024 * keys_of_head, 1e5);
  EXPECT_NEAR(bytes_of(256), queries + 256 * keys_of_head, 1e5);
}

TEST(ProblemTime, CutTilesCostWhatTheyCost) {
  // The first of two blocks: two cut tiles; the second: two full and two cut, each on its own SM.
  const PassTime time = time_on_sms(timed_problem(1, 256, MaskSpec::causal()), Pass::kForward);
  EXPECT_NEAR(time.ms.likely, (1500 + 2 * 2000 + 2 * 3000) / 0.95 / 1380e3 + 2.5e-3, 1e-12);
}

TEST(ProblemTime, FewerSmsTakeLonger) {
  const auto launches = launches_of_pass(*find_attention_kernel("volta-fp32acc"),
                                         timed_problem(10, 2048), Pass::kForward, false);
  EXPECT_GT(time_of_launches(launches, test_cycles(), 72).ms.likely,
            1.2 * time_of_launches(launches, test_cycles(), 80).ms.likely);
}

/// How long the slots of the launch with most to do take, over the mean of them, by the cycles of
/// the kernels.
double imbalance_of(const Problem& problem, Pass pass, bool is_deterministic = false) {
  const CyclesFile& cycles = embedded_cycles();
  ScheduledCycles most;
  for (const PassLaunch& launch :
       launches_of_pass(*find_attention_kernel("volta-fp32acc"), problem, pass, is_deterministic)) {
    if (launch.instance == nullptr || launch.instance->products == 0) continue;
    const InstanceCycles& of = *cycles.find(launch.instance->id);
    const ScheduledCycles cycles_of = schedule_blocks(launch.grid, of.stages.front(), kV100Sms);
    if (cycles_of.until_end > most.until_end) most = cycles_of;
  }
  return most.until_end / most.evenly;
}

TEST(ProblemTime, OfRowsThatSeeAllIsHardlyLongerThanTheMean) {
  for (const int heads : {4, 12}) {
    for (const int head_dim : {64, 128}) {
      Problem problem = timed_problem(heads, 16384);
      problem.head_dim = head_dim;
      problem.sparse = make_sparse_mask("longformer:256:16", 16384, 16384);
      const double imbalances[] = {imbalance_of(problem, Pass::kForward),
                                   imbalance_of(problem, Pass::kBackward),
                                   imbalance_of(problem, Pass::kBackward, true)};
      for (const double imbalance : imbalances) EXPECT_LT(imbalance, 1.1);
      RecordProperty(fmt::format("{}_heads_d{}", heads, head_dim),
                     fmt::format("{:.2f}", fmt::join(imbalances, ", ")));
    }
  }
}

}  // namespace
}  // namespace sparkbench
