#include "kernels/volta/tile/score_block.h"

#include "kernels/volta/tile/test_grid.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench {
namespace {

constexpr int kFirstRow = 16, kFirstKey = 32, kGroups = 2, kSteps = 2;

struct Tiles {
  SwizzledTile<64, 64> a, b;
};

/// The product of rows kFirstRow.. and keys kFirstKey.., each element where GridLayout says.
template <Accumulator kAccumulator>
void expect_product() {
  using Layout = GridLayout<kAccumulator>;
  const auto a = small_numbers<64, 64>(1), b = small_numbers<64, 64>(2);
  const auto report = run({.shared_bytes = sizeof(Tiles)}, [&](EmulatedMachine& machine) {
    auto& tiles = machine.shared<Tiles>();
    store_matrix(machine, tiles.a, a);
    store_matrix(machine, tiles.b, b);
    machine.barrier();
    AccumulatorFragment<kAccumulator> c[kGroups][kSteps] = {};
    matmul_score_block<kAccumulator>(machine, tiles.a, kFirstRow, tiles.b, kFirstKey, c);
    for (int g = 0; g < kGroups; ++g) {
      for (int step = 0; step < kSteps; ++step) {
        float value[8];
        widen(machine, c[g][step], value);
        for (int i = 0; i < 8; ++i) {
          const int quartet = quartet_of(i);
          const int row = kFirstRow + 16 * g + Layout::row(machine.lane(), Layout::slot(quartet));
          const int key = kFirstKey + 16 * step + 8 * (i >> 2) +
                          2 * Layout::pair(machine.lane(), quartet) + (i & 1);
          float want = 0.0f;
          for (int d = 0; d < 64; ++d) want += a[row][d] * b[key][d];
          EXPECT_EQ(value[i], want) << "row " << row << ", key " << key;
        }
      }
    }
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.bank_conflicts, 0u);
}

TEST(ScoreBlock, IsTheProductOfItsRowsAndKeysInFp32) { expect_product<Accumulator::kFp32>(); }
TEST(ScoreBlock, IsTheProductOfItsRowsAndKeysInFp16) { expect_product<Accumulator::kFp16>(); }

}  // namespace
}  // namespace sparkbench
