#include "kernels/volta/tile/statistics_rows.h"

#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

template <Accumulator kAccumulator>
void expect_own_rows() {
  std::vector<RowStatistics> group(kGridRows);
  for (int row = 0; row < kGridRows; ++row) {
    group[static_cast<std::size_t>(statistics_place(row))] = {static_cast<float>(row), 0.0f};
  }
  const GlobalRegion region{"statistics", group.data(), group.size() * sizeof(RowStatistics), true};
  run({.regions = {&region, 1}}, [&](EmulatedMachine& machine) {
    using Layout = GridLayout<kAccumulator>;
    RowStatistics row[Layout::kRowsPerLane];
    load_statistics<kAccumulator>(machine, group.data(), row);
    for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
      EXPECT_EQ(row[slot].offset, static_cast<float>(Layout::row(machine.lane(), slot)));
    }
  });
}

TEST(RowStatistics, AreThoseOfTheLanesRows) {
  expect_own_rows<Accumulator::kFp32>();
  expect_own_rows<Accumulator::kFp16>();
}

}  // namespace
}  // namespace sparkbench
