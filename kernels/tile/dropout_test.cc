#include "kernels/tile/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/tile/probability_scale.h"
#include "kernels/tile/test_layout.h"
#include "kernels/volta/tile/quad_grid.h"

namespace sparkbench {
namespace {

constexpr std::uint32_t kHead = 5;

/// The part of a kernel's parameters that dropout reads.
struct Params {
  Dropout dropout;
  const DropoutOffset* dropout_offset = nullptr;
};

template <class Layout>
bool keeps(const Dropout& dropout, int lane, int first_row, int first_key, int step, int element) {
  return dropout_keeps(dropout, kHead,
                       static_cast<std::uint32_t>(first_row + row_of<Layout>(lane, element)),
                       static_cast<std::uint32_t>(first_key + key_of<Layout>(lane, step, element)));
}

template <class Layout, int kKeys, int kGroups>
void expect_dropped() {
  constexpr int kSteps = kKeys / Layout::kStepKeys;
  const Params params{make_dropout(0.4f, 9)};
  const Dropout& dropout = params.dropout;
  run({}, [&](EmulatedMachine& machine) {
    for (const int first_key : {0, kKeys, 3 * kKeys}) {
      TileDropout<Layout, kKeys, kGroups> tile;
      tile.draw(machine, params, kHead, 48, first_key);
      for (int group = 0; group < kGroups; ++group) {
        float p[kSteps][Layout::kElements];
        for (auto& of_step : p) std::fill(std::begin(of_step), std::end(of_step), 0.5f);
        tile.drop(group, p);
        for (int step = 0; step < kSteps; ++step) {
          for (int i = 0; i < Layout::kElements; ++i) {
            const bool is_kept =
                keeps<Layout>(dropout, machine.lane(), 48 + 16 * group, first_key, step, i);
            EXPECT_EQ(p[step][i], is_kept ? 0.5f : 0.0f);
          }
        }
      }
    }
  });
}

template <class Layout>
void expect_dropped_of_every_size() {
  expect_dropped<Layout, 64, 1>();
  expect_dropped<Layout, 64, 2>();
  expect_dropped<Layout, 32, 1>();
  expect_dropped<Layout, 32, 2>();
}

TEST(TileDropout, IsTheDefinitionsInEveryLayout) {
  expect_dropped_of_every_size<GridLayout<Accumulator::kFp16>>();
  expect_dropped_of_every_size<GridLayout<Accumulator::kFp32>>();
  expect_dropped_of_every_size<M16n8k16Layout>();
}

template <class Layout>
void expect_packed() {
  constexpr float kScaled = 0x1p-112f;  // 1 as a half
  const Params params{make_dropout(0.4f, 9)};
  const Dropout& dropout = params.dropout;
  run({}, [&](EmulatedMachine& machine) {
    TileDropout<Layout, 64, 2> tile;
    tile.draw(machine, params, kHead, 96, 64);
    for (int group = 0; group < 2; ++group) {
      for (int i = 0; i < 8; ++i) {
        for (int strand = 0; strand < 2; ++strand) {
          // Keys 8 i + {0, 1}: the step and the element that have them.
          const int step = 8 * i / Layout::kStepKeys;
          const int n = 8 * i % Layout::kStepKeys / 8 * 2;
          const int first = Layout::element(strand, n), second = Layout::element(strand, n + 1);
          const auto half = [&](int element) -> std::uint32_t {
            return keeps<Layout>(dropout, machine.lane(), 96 + 16 * group, 64, step, element)
                       ? 0x3c00
                       : 0;
          };
          EXPECT_EQ(pack_scaled_halves(machine, kScaled, kScaled, tile.selector(group, i, strand)),
                    half(first) | half(second) << 16);
        }
      }
    }
  });
}

TEST(TileDropout, SelectsThePairsOfKeptProbabilities) {
  expect_packed<GridLayout<Accumulator::kFp16>>();
  expect_packed<GridLayout<Accumulator::kFp32>>();
  expect_packed<M16n8k16Layout>();
}

}  // namespace
}  // namespace sparkbench
