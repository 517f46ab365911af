// Machine code for sm_70 is no part of most builds, so it is asked for as in
// instance_paths_test.cc: SPARKBENCH_SM70_CODE names a binary, or a listing ("....sass").
#include "harness/predict/instance_measurement.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/cycles/sm_simulator.h"
#include "harness/inspect/cuobjdump.h"
#include "harness/predict/block_schedule.h"
#include "harness/predict/cycles_file.h"
#include "harness/predict/instance_paths.h"
#include "harness/predict/pass_launches.h"
#include "harness/predict/specimen.h"
#include "kernels/registry.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

class InstanceMeasurement : public testing::Test {
 protected:
  void SetUp() override {
    const char* const path = std::getenv("SPARKBENCH_SM70_CODE");
    if (path == nullptr) GTEST_SKIP() << "SPARKBENCH_SM70_CODE names no machine code";
    static const std::vector<SassFunction> read = functions_of(path);
    functions_ = read;
  }

  static std::vector<SassFunction> functions_of(const std::filesystem::path& code) {
    return parse_sass_listing(code.extension() == ".sass"
                                  ? text_of_file(code)
                                  : read_code(find_cuobjdump({}), code).sass);
  }

  const SassFunction& function_of(const KernelInstance& instance) const {
    for (const SassFunction& function : functions_) {
      if (function.symbol == instance.symbol) return function;
    }
    throw std::invalid_argument(std::string(instance.id));
  }

  std::vector<SassFunction> functions_;
};

const KernelInstance& instance_named(std::string_view id) {
  for (const KernelInstance& instance : kernel_instances()) {
    if (instance.id == id) return instance;
  }
  throw std::invalid_argument(std::string(id));
}

TEST_F(InstanceMeasurement, TakesTilesOfEachKind) {
  const KernelInstance& instance = instance_named("volta-fp32acc/fwd/d64");
  const Specimens specimens = specimens_of(function_of(instance), instance);
  EXPECT_EQ(specimens.few.work, (BlockWork{4, 0}));
  EXPECT_EQ(specimens.many.work, (BlockWork{20, 0}));
  EXPECT_EQ(specimens.cut.work, (BlockWork{4, 2}));
  EXPECT_EQ(specimens.as_cut.work, (BlockWork{6, 0}));
}

/// Teams out of step, as an instance's cycles have them.
std::vector<PathMark> late_teams(const TimedCode& code, const std::vector<BlockPaths>& paths,
                                 int teams) {
  constexpr int kPause = 1600;
  std::vector<PathMark> marks;
  for (int block = 0; block < static_cast<int>(paths.size()); ++block) {
    const int warps = static_cast<int>(paths[block].size()), warps_of_team = warps / teams;
    for (int warp = warps_of_team; warp < warps; ++warp) {
      const WarpPath& path = paths[block][warp];
      const auto product = std::find_if(path.begin(), path.end(), [&](const PathStep& step) {
        return code.instructions[step.instruction].flop > 0;
      });
      marks.push_back({block, warp, static_cast<int>(product - path.begin()), kPause});
    }
  }
  return marks;
}

/// The cycles in which one SM has done all blocks of a causal head, simulated as they are, and as
/// the sum of their stages.
struct HeadCycles {
  double simulated, predicted;
};

HeadCycles cycles_of_head(const SassFunction& function, const KernelInstance& instance,
                          int seqlen) {
  const Problem problem{.seqlen_q = seqlen,
                        .seqlen_k = seqlen,
                        .head_dim = instance.head_dim,
                        .mask = MaskSpec::causal(),
                        .dropout_p = instance.has_dropout ? 0.1f : 0.0f};
  const InstanceCycles& cycles = *embedded_cycles().find(instance.id);
  const LaunchPaths launch = paths_of(function, instance, problem);
  const int blocks = seqlen / instance.block_rows;
  std::vector<BlockPaths> paths;
  for (int block = 0; block < blocks; ++block)
    paths.push_back(launch.of_block({block, 0, 0}).paths);
  SmWork work{.start_offsets = std::vector<int>(cycles.blocks_per_sm, 0)};
  for (const BlockPaths& of_block : paths) work.blocks.push_back(&of_block);
  const TimedCode code = time_code(function, SmConstants{});
  work.marks = late_teams(code, paths, instance.teams);
  std::vector<BlockWork> tiles = instance.pass() == "bwd"
                                     ? tiles_of_key_blocks(instance, problem)
                                     : tiles_of_query_blocks(instance, problem);
  if (instance.pass() == "fwd") std::reverse(tiles.begin(), tiles.end());  // the last rows first
  const auto& stages = cycles.stages[static_cast<int>(ChipAssumption::kForwarded)];
  return {static_cast<double>(simulate(code, work).cycles),
          schedule_blocks({tiles, 1}, stages, 1).until_end};
}

TEST_F(InstanceMeasurement, AddsUpToWholeHeads) {
  for (const char* const id :
       {"volta-fp32acc/fwd/d64", "volta-fp32acc/fwd/d128", "volta-fp16acc/fwd/d64/dropout",
        "volta-fp32acc/bwd/d64", "volta-fp32acc/bwd/d128", "volta-fp32acc/bwd-dq/d64"}) {
    const KernelInstance& instance = instance_named(id);
    const HeadCycles cycles = cycles_of_head(function_of(instance), instance, 2048);
    EXPECT_NEAR(cycles.predicted / cycles.simulated, 1.0, 0.05) << id;
    RecordProperty(std::string("predicted over simulated, ") + id,
                   std::to_string(cycles.predicted / cycles.simulated));
  }
}

}  // namespace
}  // namespace sparkbench
