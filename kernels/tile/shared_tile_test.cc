#include "kernels/tile/shared_tile.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/machine/emulated/launch.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench {
namespace {

constexpr int kRows = 64;
constexpr int kThreads = 128;

TEST(SharedTile, GivesEveryChunkItsOwnPlace) {
  SharedTile<kRows, 128> tile;
  std::set<const Bits128*> places;
  for (int row = 0; row < kRows; ++row) {
    for (int chunk = 0; chunk < 16; ++chunk) places.insert(tile.at(row, chunk));
  }
  EXPECT_EQ(places.size(), std::size_t{kRows} * 16);
}

/// Loads a tile of a tensor with two heads and reads back what each fragment load gives.
template <int kHeadDim>
EmulationReport load_and_read(int valid_rows, std::vector<Half>& read_back) {
  const std::size_t stride = 2 * kHeadDim;
  std::vector<Half> tensor(kRows * stride);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = Half{static_cast<std::uint16_t>(i)};
  read_back.assign(kRows * kHeadDim, Half{0xdead});
  const GlobalRegion regions[] = {
      {"tensor", tensor.data(), valid_rows * stride * sizeof(Half), true}};
  using Tile = SharedTile<kRows, kHeadDim>;
  const LaunchShape shape{
      .kernel = "load", .grid = {1, 1, 1}, .threads = kThreads, .shared_bytes = sizeof(Tile)};
  return emulate(shape, regions, {.profile = &arithmetic_profile("volta")},
                 [&](EmulatedMachine& machine) {
                   auto& tile = machine.shared<Tile>();
                   load_tile<kThreads>(machine, tile, tensor.data(), stride, valid_rows);
                   machine.barrier();
                   const int row = 16 * machine.warp() + (machine.lane() & 15);
                   for (int chunk = machine.lane() >> 4; chunk < kHeadDim / 8; chunk += 2) {
                     OperandFragment operand[2];
                     load_operands(machine, operand, tile, row, chunk);
                     std::memcpy(&read_back[row * kHeadDim + chunk * 8], operand, sizeof operand);
                   }
                 });
}

TEST(SharedTile, HoldsTheRowsAndZeroesWhatIsPastTheEnd) {
  constexpr int kHeadDim = 64;
  constexpr int kValid = 37;
  std::vector<Half> read_back;
  const EmulationReport report = load_and_read<kHeadDim>(kValid, read_back);
  EXPECT_EQ(report.findings_total, 0u);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kHeadDim; ++column) {
      const int want = row < kValid ? row * 2 * kHeadDim + column : 0;
      ASSERT_EQ(read_back[row * kHeadDim + column].bits, want) << row << ", " << column;
    }
  }
}

TEST(SharedTile, WritesWholeRowsWithoutBankConflicts) {
  std::vector<Half> read_back;
  EXPECT_EQ(load_and_read<64>(kRows, read_back).counters.bank_conflicts, 0u);
  EXPECT_EQ(load_and_read<128>(kRows, read_back).counters.bank_conflicts, 0u);
}

/// The three fragment reads of the Volta kernels: Q as A, K and V as B.
TEST(SharedTile, ReadsFragmentsOfM8n8k4WithoutBankConflicts) {
  using Tile = SharedTile<32, 64>;
  const LaunchShape shape{
      .kernel = "read", .grid = {1, 1, 1}, .threads = 32, .shared_bytes = sizeof(Tile)};
  const EmulationReport report = emulate(
      shape, {}, {.profile = &arithmetic_profile("volta"), .detect = false},
      [&](EmulatedMachine& machine) {
        auto& tile = machine.shared<Tile>();
        const int lane = machine.lane();
        for (int chunk = 0; chunk < 8; ++chunk) {
          OperandFragment operand[2];
          load_operands(machine, operand, tile, 8 * quad_pair(lane) + owned_row(lane), chunk);
          load_operands(machine, operand, tile, 16 + owned_row(lane), chunk);
          load_operands(machine, operand, tile, 12 + (lane & 3), (chunk & 6) + (lane >> 4));
        }
        machine.barrier();
      });
  EXPECT_EQ(report.counters.bank_conflicts, 0u);
  EXPECT_EQ(report.counters.shared_wavefronts, 8u * 3u * 4u);
}

}  // namespace
}  // namespace sparkbench
