// On the kernels' machine code (test_sm70_code.h).
#include "harness/model/measure/instance_measurement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "harness/model/measure/instance_paths.h"
#include "harness/model/measure/specimen.h"
#include "harness/model/measure/test_sm70_code.h"
#include "harness/model/predict/block_schedule.h"
#include "harness/model/predict/block_tiles.h"
#include "harness/model/predict/cycles_file.h"
#include "harness/model/predict/listed_blocks.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

class InstanceMeasurement : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_sm70_code_named()) GTEST_SKIP() << kNoSm70Code;
  }
};

TEST_F(InstanceMeasurement, TakesTilesOfEachKind) {
  const KernelInstance& instance = instance_of("volta-fp32acc/fwd/d64");
  const Specimens specimens = specimens_of(sm70_function_of(instance), instance);
  EXPECT_EQ(specimens.few.work, (BlockWork{4, 0}));
  EXPECT_EQ(specimens.many.work, (BlockWork{20, 0}));
  EXPECT_EQ(specimens.cut.work, (BlockWork{4, 2}));
  EXPECT_EQ(specimens.as_cut.work, (BlockWork{6, 0}));
  EXPECT_FALSE(specimens.group.has_value());
  const KernelInstance& backward = instance_of("volta-fp32acc/bwd/d64");
  EXPECT_EQ(specimens_of(sm70_function_of(backward), backward).group->work, (BlockWork{20, 0, 4}));
}

TEST_F(InstanceMeasurement, TakesBlocksOfARelayFromWindows) {
  const KernelInstance& instance = instance_of("volta-fp32acc/bwd/d64/relay");
  const Specimens specimens = specimens_of(sm70_function_of(instance), instance);
  EXPECT_EQ(specimens.few.work, (BlockWork{1, 2, 0, 2}));
  EXPECT_EQ(specimens.many.work, (BlockWork{5, 2, 0, 2}));
  EXPECT_EQ(specimens.cut.work, (BlockWork{1, 3, 0, 4}));
  EXPECT_EQ(specimens.as_cut.work, (BlockWork{2, 2, 0, 2}));
  EXPECT_EQ(specimens.group->work, (BlockWork{2, 4, 1, 4}));
  EXPECT_EQ(specimens.few_halves->work, (BlockWork{0, 6, 0}));
  EXPECT_EQ(specimens.many_halves->work, (BlockWork{0, 10, 0}));
  const KernelInstance& wide = instance_of("volta-fp32acc/bwd/d128/relay");
  const Specimens of_wide = specimens_of(sm70_function_of(wide), wide);
  EXPECT_EQ(of_wide.cut.work, (BlockWork{1, 10, 0}));
  EXPECT_EQ(of_wide.as_cut.work, (BlockWork{3, 8, 0}));
}

TEST_F(InstanceMeasurement, TakesCutTilesOfOnePartOfAllAndOfUnequallyMany) {
  const auto parts_of = [](const char* id) {
    const KernelInstance& instance = instance_of(id);
    const Specimens specimens = specimens_of(sm70_function_of(instance), instance);
    EXPECT_EQ(specimens.cut.work, (BlockWork{4, 8})) << id;
    EXPECT_EQ(specimens.as_cut.work, (BlockWork{12, 0})) << id;
    return std::pair(specimens.all_parts->work, specimens.stairs->work);
  };
  constexpr BlockWork kAllParts = {4, 8, 0, 8};
  // The halves that each warp sees of the stairs: 2100 2221 1222 0012, twice.
  constexpr BlockWork kStairs = {4, 8, 0, 8, 24};
  EXPECT_EQ(parts_of("volta-fp32acc/fwd/d64/sparse"), std::pair(kAllParts, kStairs));
  EXPECT_EQ(parts_of("volta-fp32acc/fwd/d128/sparse"), std::pair(kAllParts, kStairs));
  // Two warps a scheduler share rows with two of another: 1, 2, 2 and 1 part on each.
  EXPECT_EQ(parts_of("volta-fp16acc/fwd/d256/sparse"), std::pair(kAllParts, BlockWork{4, 8, 0, 4}));
  const KernelInstance& backward = instance_of("volta-fp32acc/bwd/d64/sparse");
  EXPECT_FALSE(specimens_of(sm70_function_of(backward), backward).all_parts.has_value());
}

TEST_F(InstanceMeasurement, IsOfThisCodeForAllThatIsKept) {
  for (const InstanceCycles& kept : embedded_cycles().instances) {
    EXPECT_EQ(code_hash(sm70_function_of(instance_of(kept.id))), kept.code_hash) << kept.id;
  }
}

/// By how much a team starts after the one before it.
constexpr int kPause = 1600;

/// Cycles between the starts of blocks that share an SM: as stages are, simulated cycles are the
/// mean over several.
constexpr int kStarts[] = {400, 2000};

/// The cycles in which one SM has done all blocks of a head, or of so many that share keys,
/// simulated as they are, and as the sum of their stages. `mask` shows later rows more keys.
struct HeadCycles {
  double simulated, predicted;
};

HeadCycles cycles_of_head(const SassFunction& function, const KernelInstance& instance, int seqlen,
                          int heads = 1, const MaskSpec& mask = MaskSpec::causal()) {
  const Problem problem{.heads = heads,
                        .seqlen_q = seqlen,
                        .seqlen_k = seqlen,
                        .head_dim = instance.head_dim,
                        .mask = mask,
                        .dropout_p = instance.has_dropout ? 0.1f : 0.0f,
                        .heads_k = 1};
  const InstanceCycles& cycles = *embedded_cycles().find(instance.id);
  const LaunchPaths launch = paths_of(function, instance, problem);
  const int blocks = seqlen / instance.block_rows;
  std::vector<BlockPaths> paths;
  for (int block = 0; block < blocks; ++block)
    paths.push_back(launch.of_block({block, 0, 0}).paths);
  SmWork work;
  for (const BlockPaths& of_block : paths) work.blocks.push_back(&of_block);
  const TimedCode code = time_code(function, SmConstants{});
  work.marks = late_teams(code, work.blocks, instance.teams, kPause);
  double simulated = 0.0;
  for (const int offset : kStarts) {
    work.start_offsets = staggered_starts(cycles.blocks_per_sm, offset);
    simulated += static_cast<double>(simulate(code, work).cycles) / std::size(kStarts);
  }
  std::vector<BlockWork> tiles = instance.pass() == "bwd"
                                     ? tiles_of_key_blocks(instance, problem)
                                     : tiles_of_query_blocks(instance, problem);
  // The last rows first, or the last keys.
  if (instance.pass() == "fwd" || instance.relays_dq) std::reverse(tiles.begin(), tiles.end());
  const auto& stages = cycles.stages[static_cast<int>(ChipAssumption::kForwarded)];
  return {simulated, schedule_blocks({tiles, 1}, stages, 1).until_end};
}

TEST_F(InstanceMeasurement, AddsUpToWholeHeads) {
  for (const char* const id :
       {"volta-fp32acc/fwd/d64", "volta-fp32acc/fwd/d128", "volta-fp16acc/fwd/d64/dropout",
        "volta-fp32acc/bwd/d64", "volta-fp32acc/bwd/d80", "volta-fp32acc/bwd/d96",
        "volta-fp32acc/bwd/d128", "volta-fp32acc/bwd-dq/d64", "volta-fp32acc/bwd-dq/d128"}) {
    const KernelInstance& instance = instance_of(id);
    const HeadCycles cycles = cycles_of_head(sm70_function_of(instance), instance, 2048);
    EXPECT_NEAR(cycles.predicted / cycles.simulated, 1.0, 0.05) << id;
    RecordProperty(std::string("predicted over simulated, ") + id,
                   std::to_string(cycles.predicted / cycles.simulated));
  }
}

TEST_F(InstanceMeasurement, AddsUpToShortWindows) {
  for (const char* const id : {"volta-fp32acc/fwd/d64/short", "volta-fp16acc/fwd/d64/short",
                               "volta-fp32acc/fwd/d128/short", "volta-fp32acc/bwd/d64/relay",
                               "volta-fp16acc/bwd/d64/relay", "volta-fp32acc/bwd/d64/dropout/relay",
                               "volta-fp32acc/bwd/d128/relay", "volta-fp16acc/bwd/d128/relay",
                               "volta-fp32acc/bwd-dq/d64/short"}) {
    const KernelInstance& instance = instance_of(id);
    for (const int window : {128, 256}) {
      const HeadCycles cycles =
          cycles_of_head(sm70_function_of(instance), instance, 2048, 1, MaskSpec::window(window));
      const std::string name = fmt::format("{}, window:{}", id, window);
      EXPECT_NEAR(cycles.predicted / cycles.simulated, 1.0, 0.05) << name;
      RecordProperty("predicted over simulated, " + name,
                     std::to_string(cycles.predicted / cycles.simulated));
    }
  }
}

/// Where a block has fewer half steps than in a window, or none.
TEST_F(InstanceMeasurement, AddsUpToShortSequences) {
  for (const char* const id : {"volta-fp32acc/bwd/d64/relay", "volta-fp16acc/bwd/d64/relay",
                               "volta-fp32acc/bwd/d64/dropout/relay"}) {
    const KernelInstance& instance = instance_of(id);
    for (const auto& [mask, seqlen] :
         {std::pair{MaskSpec::causal(), 2048}, {MaskSpec::full(), 512}}) {
      const HeadCycles cycles =
          cycles_of_head(sm70_function_of(instance), instance, seqlen, 1, mask);
      const std::string name = fmt::format("{}, {} of {}", id, name_of(mask), seqlen);
      EXPECT_NEAR(cycles.predicted / cycles.simulated, 1.0, 0.05) << name;
      RecordProperty("predicted over simulated, " + name,
                     std::to_string(cycles.predicted / cycles.simulated));
    }
  }
}

TEST_F(InstanceMeasurement, AddsUpToWholeGroups) {
  for (const char* const id : {"volta-fp32acc/bwd/d64", "volta-fp32acc/bwd/d128"}) {
    const KernelInstance& instance = instance_of(id);
    const HeadCycles cycles = cycles_of_head(sm70_function_of(instance), instance, 512, 4);
    EXPECT_NEAR(cycles.predicted / cycles.simulated, 1.0, 0.05) << id;
    RecordProperty(std::string("predicted over simulated, ") + id,
                   std::to_string(cycles.predicted / cycles.simulated));
  }
}

/// The same of a pattern, whose blocks go to an SM in the list's order: the mean of some offsets
/// between its residents.
HeadCycles cycles_of_pattern(const SassFunction& function, const KernelInstance& instance,
                             const std::string& mask) {
  const int seqlen = 16 * instance.block_rows;
  Problem problem{.seqlen_q = seqlen,
                  .seqlen_k = seqlen,
                  .head_dim = instance.head_dim,
                  .dropout_p = instance.has_dropout ? 0.1f : 0.0f};
  problem.sparse = make_sparse_mask(mask, seqlen, seqlen);
  const InstanceCycles& cycles = *embedded_cycles().find(instance.id);
  const std::vector<BlockWork> tiles = tiles_of_pattern(instance, problem);
  const LaunchPaths launch = paths_of(function, instance, problem);
  std::vector<BlockPaths> paths;
  for (int block = 0; block < static_cast<int>(tiles.size()); ++block) {
    paths.push_back(launch.of_block({0, block, 0}).paths);
  }
  const TimedCode code = time_code(function, SmConstants{});
  constexpr std::array kOffsets = {800, 1600, 2400};
  double simulated = 0.0;
  for (const int offset : kOffsets) {
    SmWork work{.start_offsets = staggered_starts(cycles.blocks_per_sm, offset)};
    for (const BlockPaths& of_block : paths) work.blocks.push_back(&of_block);
    work.marks = late_teams(code, work.blocks, instance.teams, kPause);
    simulated += static_cast<double>(simulate(code, work).cycles) / kOffsets.size();
  }
  const auto& stages = cycles.stages[static_cast<int>(ChipAssumption::kForwarded)];
  return {simulated, schedule_blocks({tiles, 1}, stages, 1).until_end};
}

TEST_F(InstanceMeasurement, AddsUpToPatterns) {
  for (const char* const id : {"volta-fp32acc/fwd/d64/sparse", "volta-fp32acc/fwd/d128/sparse",
                               "volta-fp32acc/fwd/d128/dropout/sparse",
                               "volta-fp16acc/fwd/d128/sparse", "volta-fp32acc/fwd/d256/sparse"}) {
    const KernelInstance& instance = instance_of(id);
    const SassFunction& function = sm70_function_of(instance);
    for (const char* const mask :
         {"window:128", "window:256", "window:128+sink:1", "blocked:128", "longformer:256:16"}) {
      const HeadCycles cycles = cycles_of_pattern(function, instance, mask);
      const std::string name = std::string(id) + ", " + mask;
      const double ratio = cycles.predicted / cycles.simulated;
      const double most = std::string_view(id) == "volta-fp32acc/fwd/d128/sparse" ? 1.07 : 1.05;
      EXPECT_GT(ratio, 0.95) << name;
      EXPECT_LT(ratio, most) << name;
      RecordProperty("predicted over simulated, " + name, std::to_string(ratio));
    }
  }
}

}  // namespace
}  // namespace sparkbench
