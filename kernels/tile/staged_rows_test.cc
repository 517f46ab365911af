#include "kernels/tile/staged_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/volta/tile/dense_tile.h"
#include "kernels/volta/tile/swizzled_tile.h"

namespace sparkbench {
namespace {

/// Copies 27 of 32 rows, the last chunk of a lane's part of them only if `has_last`.
template <class Tile>
void expect_copied(bool has_last) {
  using Staged = StagedRows<Tile, 2>;
  constexpr int kStride = Tile::kColumns + 8, kValid = 27;
  std::vector<Half> halves(32 * kStride);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = {static_cast<std::uint16_t>(i)};
  const GlobalRegion region{"k", halves.data(), kValid * kStride * sizeof(Half), true};
  const EmulationReport report =
      run({.warps = 2, .shared_bytes = sizeof(Tile), .regions = {&region, 1}},
          [&](EmulatedMachine& machine) {
            auto& tile = machine.shared<Tile>();
            Staged staged;
            staged.load(machine, {halves.data(), kStride, kValid}, has_last);
            staged.store(machine, tile);
            machine.barrier();
            const int chunks = Tile::kChunksPerRow - (has_last ? 0 : Tile::kLanesPerRow);
            const int chunk = machine.lane() % Tile::kChunksPerRow;
            for (int row = 0; row < Tile::kRows; ++row) {
              const bool is_copied = row < kValid && chunk < chunks;
              const auto bits = machine.load_shared<Bits128>(tile.at(row, chunk));
              const auto first = static_cast<std::uint32_t>(row * kStride + 8 * chunk);
              EXPECT_EQ(bits.word[0] & 0xffff, is_copied ? first : 0u);
              EXPECT_EQ(bits.word[3] >> 16, is_copied ? first + 7 : 0u);
            }
          });
  EXPECT_EQ(report.findings_total, 0u);
}

TEST(StagedRows, CopiesTheRowsThatExist) { expect_copied<SwizzledTile<32, 64>>(true); }

TEST(StagedRows, CopiesSeveralChunksOfARow) { expect_copied<DenseTile<32, 80>>(true); }

TEST(StagedRows, LeavesOutTheLastChunkOfALane) { expect_copied<DenseTile<32, 80>>(false); }

}  // namespace
}  // namespace sparkbench
