// Key runs over bands of all kinds: each step's tiles are consecutive in the run that has the last
// of them.
#include "kernels/hopper/backward/key_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/mask/mask_spec.h"

namespace sparkbench::hopper {
namespace {

/// A head of `seqlen` tokens in `runs` runs.
void expect_each_visit_once(const MaskSpec& spec, int seqlen, int runs) {
  SCOPED_TRACE(testing::Message() << name_of(spec) << ", " << seqlen << " tokens, " << runs
                                  << " runs");
  const KeyMask mask = make_key_mask(spec, seqlen, seqlen);
  const int tiles = (seqlen + kWarpgroupRows - 1) / kWarpgroupRows;
  std::vector<int> owners(static_cast<std::size_t>(tiles)), whole(owners);
  for (int r = 0; r < runs; ++r) {
    RunCounts before;
    before.tiles = 3;
    before.steps = 5;
    const KeyRun run(mask, r, runs, before);
    ASSERT_LE(run.first(), run.own());
    ASSERT_LT(run.own(), run.end());
    std::vector<int> visits(static_cast<std::size_t>(tiles)), last(visits);
    int steps_loaded = run.first_step();
    for (int tile = run.first(); tile < run.end(); ++tile) {
      if (tile >= run.own()) ++owners[static_cast<std::size_t>(tile)];
      EXPECT_EQ(run.tiles_before(tile), 3 + tile - run.first());
      const Range steps = run.steps(tile);
      EXPECT_LE(steps.begin, steps_loaded);
      for (int step = steps.begin; step < steps.end; ++step) {
        const auto at = static_cast<std::size_t>(step);
        const StepVisit visit = run.visit(tile, step);
        EXPECT_EQ(visit.index, visits[at]++) << "step " << step << ", tile " << tile;
        EXPECT_EQ(last[at], 0);
        last[at] += visit.is_last ? 1 : 0;
        if (visit.is_whole) {
          EXPECT_TRUE(visit.is_last);
          ++whole[at];
        }
      }
      steps_loaded = most_of(steps_loaded, steps.end);
    }
    EXPECT_EQ(run.end_step(), steps_loaded);
    EXPECT_EQ(run.counts().tiles, 3 + run.end() - run.first());
    EXPECT_EQ(run.counts().steps, 5 + steps_loaded - run.first_step());
    for (int step = run.first_step(); step < steps_loaded; ++step) {
      EXPECT_EQ(last[static_cast<std::size_t>(step)], 1) << step;
      EXPECT_EQ(run.visits(step), visits[static_cast<std::size_t>(step)]) << step;
    }
  }
  for (int i = 0; i < tiles; ++i) {
    EXPECT_EQ(owners[static_cast<std::size_t>(i)], 1) << i;
    EXPECT_EQ(whole[static_cast<std::size_t>(i)], 1) << i;
  }
}

TEST(HopperKeyRuns, HaveEachTileAndFinishEachStepOnce) {
  for (const int seqlen : {1, 64, 65, 1000}) {
    for (const MaskSpec& mask : {MaskSpec::window(1), MaskSpec::window(128), MaskSpec::window(130),
                                 MaskSpec::band(64, 64), MaskSpec::band(0, 200)}) {
      const int tiles = (seqlen + kWarpgroupRows - 1) / kWarpgroupRows;
      for (int runs = 1; runs <= tiles; ++runs) expect_each_visit_once(mask, seqlen, runs);
    }
  }
}

TEST(HopperKeyRuns, HoldForRandomBands) {
  std::mt19937 random(7);
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  for (int i = 0; i < 300; ++i) {
    const int seqlen = 1 + below(1500), tiles = (seqlen + kWarpgroupRows - 1) / kWarpgroupRows;
    expect_each_visit_once(MaskSpec::band(below(300), below(300)), seqlen,
                           1 + below(static_cast<unsigned>(tiles)));
  }
}

}  // namespace
}  // namespace sparkbench::hopper
