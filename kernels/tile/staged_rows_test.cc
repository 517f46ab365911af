#include "kernels/tile/staged_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/volta/tile/swizzled_tile.h"

namespace sparkbench {
namespace {

using Tile = SwizzledTile<32, 64>;

TEST(StagedRows, CopiesTheRowsThatExist) {
  constexpr int kWarps = 2, kStride = 72, kValid = 27;
  std::vector<Half> halves(32 * kStride);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = {static_cast<std::uint16_t>(i)};
  const GlobalRegion region{"k", halves.data(), kValid * kStride * sizeof(Half), true};
  const EmulationReport report =
      run({.warps = kWarps, .shared_bytes = sizeof(Tile), .regions = {&region, 1}},
          [&](EmulatedMachine& machine) {
            auto& tile = machine.shared<Tile>();
            StagedRows<Tile, kWarps> staged;
            staged.load(machine, {halves.data(), kStride, kValid});
            staged.store(machine, tile);
            machine.barrier();
            for (int row = 0; row < Tile::kRows; ++row) {
              const int chunk = machine.lane() % Tile::kChunksPerRow;
              const auto bits = machine.load_shared<Bits128>(tile.at(row, chunk));
              const auto first = static_cast<std::uint32_t>(row * kStride + 8 * chunk);
              EXPECT_EQ(bits.word[0] & 0xffff, row < kValid ? first : 0u);
              EXPECT_EQ(bits.word[3] >> 16, row < kValid ? first + 7 : 0u);
            }
          });
  EXPECT_EQ(report.findings_total, 0u);
}

}  // namespace
}  // namespace sparkbench
