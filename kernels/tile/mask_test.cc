#include "kernels/tile/mask.h"

#include <gtest/gtest.h>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/mask/test_masks.h"
#include "kernels/tile/test_layout.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {
namespace {

/// A tile at every place where masks cut it differently, in registers and in accumulators.
template <class Layout, int kKeys>
void expect_hidden(const MaskSpec& spec) {
  constexpr int kSteps = kKeys / Layout::kStepKeys;
  const KeyMask mask = make_key_mask(spec, 90, 150);
  run({}, [&](EmulatedMachine& machine) {
    for (int first_row = 0; first_row < 90; first_row += 16) {
      for (int first_key = 0; first_key < 150; first_key += kKeys) {
        float score[kSteps][Layout::kElements] = {};
        typename Layout::Fragment fragment[kSteps] = {};
        mask_scores<Layout>(score, mask, machine.lane(), first_row, first_key);
        mask_scores<Layout>(fragment, mask, machine.lane(), first_row, first_key);
        for (int step = 0; step < kSteps; ++step) {
          float widened[Layout::kElements];
          Layout::widen(machine, fragment[step], widened);
          for (int i = 0; i < Layout::kElements; ++i) {
            const bool is_seen = mask.sees(first_row + row_of<Layout>(machine.lane(), i),
                                           first_key + key_of<Layout>(machine.lane(), step, i));
            EXPECT_EQ(score[step][i], is_seen ? 0.0f : -INFINITY);
            EXPECT_EQ(widened[i], is_seen ? 0.0f : -INFINITY);
          }
        }
      }
    }
  });
}

TEST(TileMask, HidesWhatARowDoesNotSee) {
  for (const MaskSpec& spec : kTestMasks) {
    SCOPED_TRACE(name_of(spec));
    expect_hidden<GridLayout<Accumulator::kFp16>, 64>(spec);
    expect_hidden<GridLayout<Accumulator::kFp32>, 64>(spec);
    expect_hidden<GridLayout<Accumulator::kFp32>, 32>(spec);
    expect_hidden<M16n8k16Layout, 64>(spec);
    expect_hidden<M16n8k16Layout, 32>(spec);
  }
}

}  // namespace
}  // namespace sparkbench
