#include "kernels/tile/dropout.h"

#include <gtest/gtest.h>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/tile/test_layout.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {
namespace {

constexpr std::uint32_t kHead = 5;

template <class Layout, int kKeys>
void expect_dropped() {
  constexpr int kSteps = kKeys / Layout::kStepKeys;
  const Dropout dropout = make_dropout(0.4f, 9);
  run({}, [&](EmulatedMachine& machine) {
    for (const int first_key : {0, kKeys, 3 * kKeys}) {
      TileDropout<Layout, kKeys> tile;
      tile.draw(dropout, machine.lane(), kHead, 48, first_key);
      float p[kSteps][Layout::kElements], marked[kSteps][Layout::kElements];
      for (int step = 0; step < kSteps; ++step) {
        for (float& value : p[step]) value = 0.5f;
      }
      tile.apply(dropout, 0, kSteps, p);
      for (int step = 0; step < kSteps; ++step) {
        for (int strand = 0; strand < Layout::kStrands; ++strand) {
          for (int n = 0; n < Layout::kStrandElements; ++n) {
            const int i = Layout::element(strand, n);
            float kept = 0.5f;
            marked[step][i] = drop_and_mark<Layout>(kept, dropout, tile.strand[strand], step, n);
            const bool keeps = dropout_keeps(
                dropout, kHead, static_cast<std::uint32_t>(48 + row_of<Layout>(machine.lane(), i)),
                static_cast<std::uint32_t>(first_key + key_of<Layout>(machine.lane(), step, i)));
            EXPECT_EQ(p[step][i], keeps ? 0.5f : 0.0f);
            EXPECT_EQ(kept, p[step][i]);
            EXPECT_EQ(marked[step][i], keeps ? 0.5f : -0.5f);
          }
        }
      }
      float gradient[kSteps][Layout::kElements];
      for (int step = 0; step < kSteps; ++step) {
        for (float& value : gradient[step]) value = 2.0f;
      }
      drop_marked(marked, gradient);
      for (int step = 0; step < kSteps; ++step) {
        for (int i = 0; i < Layout::kElements; ++i) {
          EXPECT_EQ(marked[step][i], 0.5f);
          EXPECT_EQ(gradient[step][i], p[step][i] == 0.0f ? 0.0f : 2.0f);
        }
      }
    }
  });
}

TEST(TileDropout, IsTheDefinitionsInEveryLayout) {
  expect_dropped<GridLayout<Accumulator::kFp16>, 64>();
  expect_dropped<GridLayout<Accumulator::kFp32>, 64>();
  expect_dropped<GridLayout<Accumulator::kFp32>, 32>();
  expect_dropped<M16n8k16Layout, 64>();
  expect_dropped<M16n8k16Layout, 32>();
}

}  // namespace
}  // namespace sparkbench
