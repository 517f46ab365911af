#include "kernels/tile/mask.h"

#include <gtest/gtest.h>

#include <array>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/mask/test_masks.h"
#include "kernels/tile/test_layout.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {
namespace {

/// A tile at every position where masks cross it differently, in registers and in accumulators, and
/// by the keys before and after a row's own.
template <class Layout, int kKeys>
void expect_hidden(const MaskSpec& spec) {
  constexpr int kSteps = kKeys / Layout::kStepKeys;
  const KeyMask mask = make_key_mask(spec, 90, 150);
  run({}, [&](EmulatedMachine& machine) {
    for (int first_row = 0; first_row < 90; first_row += 16) {
      for (int first_key = 0; first_key < 150; first_key += kKeys) {
        float score[kSteps][Layout::kElements] = {}, outside[1][kSteps][Layout::kElements] = {};
        typename Layout::Fragment fragment[kSteps] = {};
        mask_scores<Layout>(score, mask, machine.lane(), first_row, first_key);
        mask_scores<Layout>(fragment, mask, machine.lane(), first_row, first_key);
        hide_outside<Layout, kSteps, 1>(
            mask, mask.keys_of_all({first_row, first_row + 16}), machine.lane(),
            [&](int) { return first_row; }, first_key,
            [&](int g, int step, int i) { outside[g][step][i] = -INFINITY; });
        for (int step = 0; step < kSteps; ++step) {
          float widened[Layout::kElements];
          Layout::widen(machine, fragment[step], widened);
          for (int i = 0; i < Layout::kElements; ++i) {
            const bool is_seen = mask.sees(first_row + row_of<Layout>(machine.lane(), i),
                                           first_key + key_of<Layout>(machine.lane(), step, i));
            EXPECT_EQ(score[step][i], is_seen ? 0.0f : -INFINITY);
            EXPECT_EQ(outside[0][step][i], is_seen ? 0.0f : -INFINITY);
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

/// The calls for each of a lane's scores of two groups of rows, if all of these see `seen`.
std::array<int, 2> calls_outside(const KeyMask& mask, const Range& seen, int first_key) {
  std::array<int, 2> calls{};
  hide_outside<GridLayout<Accumulator::kFp32>, 2, 2>(
      mask, seen, 0, [](int g) { return 64 + 16 * g; }, first_key,
      [&](int g, int, int) { ++calls[g]; });
  return calls;
}

TEST(TileMask, ComparesOnTheSideAloneWhereARowSeesNotAll) {
  const KeyMask window = make_key_mask(MaskSpec::window(32), 128, 128);
  // Lane 0 has keys 64, 65, 72, 73, 80, 81, 88 and 89 of two steps. Its rows 64 and 66 see one and
  // two of them, 80 and 82 five and six.
  const Range seen = window.keys_of_all({64, 96});
  EXPECT_EQ(calls_outside(window, seen, 64), (std::array{13, 5}));
  // Keys that are said to be seen are not compared.
  EXPECT_EQ(calls_outside(window, {0, 128}, 64), (std::array{0, 0}));
  EXPECT_EQ(calls_outside(window, {64, seen.end}, 64), (std::array{13, 5}));
  EXPECT_EQ(calls_outside(window, {seen.begin, 96}, 32), calls_outside(window, {96, 96}, 32));
}

}  // namespace
}  // namespace sparkbench
