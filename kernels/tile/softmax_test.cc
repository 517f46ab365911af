#include "kernels/tile/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/tile/probability_scale.h"
#include "kernels/tile/test_layout.h"
#include "kernels/volta/tile/shared_rows.h"

namespace sparkbench {
namespace {

constexpr int kScoreTiles = 3, kGroups = 2;
constexpr float kLog2Scale = 0.7f;

/// A score of row `row` and key `key`; row 3 sees no key of the first tile, row 5 none at all.
float score_of(int row, int key, int tile_keys) {
  if (row == 5 || (row == 3 && key < tile_keys)) return -INFINITY;
  return static_cast<float>((7 * row + 13 * key) % 11) - 4.0f;
}

/// m and l of every row after some tiles, against sums in double.
template <class Layout, class Rows, class Scale>
void expect_sums() {
  constexpr int kSteps = 2, kKeys = kSteps * Layout::kStepKeys;
  run({}, [&](EmulatedMachine& machine) {
    Rows rows;
    for (int tile = 0; tile < kScoreTiles; ++tile) {
      typename Layout::Fragment score[kGroups][kSteps];
      for (int g = 0; g < kGroups; ++g) {
        for (int step = 0; step < kSteps; ++step) {
          for (int i = 0; i < Layout::kElements; ++i) {
            const int row = 16 * g + row_of<Layout>(machine.lane(), i);
            const int key = kKeys * tile + key_of<Layout>(machine.lane(), step, i);
            score[g][step].element[i] = score_of(row, key, kKeys);
          }
        }
      }
      TileSoftmax<Layout, kGroups> softmax(machine, score, kLog2Scale, rows);
      float p[kGroups][kSteps][Layout::kElements];
      softmax.exponentials(machine, score, 0, 1, kLog2Scale, p);
      softmax.exponentials(machine, score, 1, kSteps, kLog2Scale, p);
      rows.add(machine, softmax.sum);
    }
    for (int g = 0; g < kGroups; ++g) {
      const auto finished = rows.finished(machine, g);
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        const int row = 16 * g + Layout::row(machine.lane(), slot);
        double m = -INFINITY, l = 0.0;
        for (int key = 0; key < kScoreTiles * kKeys; ++key) {
          m = std::fmax(m, static_cast<double>(score_of(row, key, kKeys)));
        }
        for (int key = 0; key < kScoreTiles * kKeys; ++key) {
          const double score = score_of(row, key, kKeys);
          if (score > -INFINITY) l += std::exp2((score - m) * kLog2Scale);
        }
        EXPECT_EQ(finished.m[slot], row == 5 ? kNoScore : m);
        EXPECT_NEAR(finished.row_sum(slot), l, 1e-5 * l);
      }
    }
  });
}

TEST(TileSoftmax, SumsEveryRowInEveryLayout) {
  using Grid = GridLayout<Accumulator::kFp32>;
  using Scale = ProbabilityScale<Accumulator::kFp32>;
  using Unscaled = ProbabilityScale<Accumulator::kFp16>;
  expect_sums<Grid, LaneRows<Grid, kGroups, Scale>, Scale>();
  expect_sums<Grid, SharedRows<Accumulator::kFp32, Scale>, Scale>();
  expect_sums<M16n8k16Layout, LaneRows<M16n8k16Layout, kGroups, Scale>, Scale>();
  expect_sums<M16n8k16Layout, LaneRows<M16n8k16Layout, kGroups, Unscaled>, Unscaled>();
}

}  // namespace
}  // namespace sparkbench
