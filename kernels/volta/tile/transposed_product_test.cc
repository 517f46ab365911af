#include "kernels/volta/tile/transposed_product.h"

#include "kernels/volta/tile/quartet_tile.h"
#include "kernels/volta/tile/test_grid.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench {
namespace {

constexpr int kTiles = 4, kFirstBlock = 1, kColumnGroups = 2;

struct ProductTiles {
  ProbabilityTile<64> p[kTiles];
  SwizzledTile<16 * kTiles, 64> b;
};

/// Stores P, a row per query, its keys in quartets.
template <class ProductTiles, class Matrix>
void store_probability_tiles(EmulatedMachine& machine, ProductTiles& tiles, const Matrix& p) {
  for (int index = machine.lane(); index < 16 * kTiles * 8; index += 32) {
    const int row = index / 8, chunk = index % 8;
    std::array<float, 8> value;
    for (int i = 0; i < 8; ++i) {
      const int pair = 2 * (chunk % 2) + (i >> 2);
      value[i] = p[row][16 * (chunk / 2) + 2 * pair + 8 * ((i >> 1) & 1) + (i & 1)];
    }
    machine.store_shared(tiles.p[row / 16].at(row % 16, chunk), halves_of(value));
  }
}

/// Row and column of element i of an 8x8 tile.
struct Element {
  int m, n;
};

template <Accumulator kAccumulator>
Element element(int lane, int i) {
  if (kAccumulator == Accumulator::kFp16) return {owned_row(lane), i};
  return {fp32_row(lane, i), fp32_column(lane, i)};
}

template <Accumulator kAccumulator>
void expect_product() {
  const auto p = small_numbers<16 * kTiles, 64>(1), b = small_numbers<16 * kTiles, 64>(2);
  const auto report = run({.shared_bytes = sizeof(ProductTiles)}, [&](EmulatedMachine& machine) {
    auto& tiles = machine.shared<ProductTiles>();
    store_probability_tiles(machine, tiles, p);
    store_matrix(machine, tiles.b, b);
    machine.barrier();
    AccumulatorFragment<kAccumulator> c[kTransposedGroups][kColumnGroups] = {};
    matmul_transposed_probabilities<kColumnGroups / 2>(machine, tiles.p, tiles.b, kFirstBlock, c);
    const int lane = machine.lane();
    for (int g = 0; g < kTransposedGroups; ++g) {
      for (int f = 0; f < kColumnGroups; ++f) {
        float value[8];
        widen(machine, c[g][f], value);
        for (int i = 0; i < 8; ++i) {
          const auto [m, n] = element<kAccumulator>(lane, i);
          const int key = transposed_key(grid_row_half(lane), g, m);
          const int column =
              32 * kFirstBlock + 16 * grid_column_half(lane) + 8 * (n >> 2) + 4 * f + (n & 3);
          float want = 0.0f;
          for (int row = 0; row < 16 * kTiles; ++row) want += p[row][key] * b[row][column];
          EXPECT_EQ(value[i], want) << "key " << key << ", column " << column;
        }
      }
    }
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.bank_conflicts, 0u);
}

TEST(TransposedProduct, IsThatOfTheTransposeInFp32) { expect_product<Accumulator::kFp32>(); }
TEST(TransposedProduct, IsThatOfTheTransposeInFp16) { expect_product<Accumulator::kFp16>(); }

/// One half of the keys, two blocks of columns and half of a third.
TEST(TransposedProduct, TakesHalfOfTheKeysAndHalfABlock) {
  struct QuartetTiles {
    ProbabilityTile<64> p[kTiles];
    QuartetTile<16 * kTiles, 96> b;
  };
  const auto p = small_numbers<16 * kTiles, 64>(1);
  const auto b = small_numbers<16 * kTiles, 96>(2);
  for (int key_half = 0; key_half < 2; ++key_half) {
    const auto report = run({.shared_bytes = sizeof(QuartetTiles)}, [&](EmulatedMachine& machine) {
      auto& tiles = machine.shared<QuartetTiles>();
      store_probability_tiles(machine, tiles, p);
      store_matrix(machine, tiles.b, b);
      machine.barrier();
      AccumulatorFragment<Accumulator::kFp32> c[kTransposedGroups / 2][5] = {};
      matmul_transposed_probabilities<2, true>(machine, tiles.p, tiles.b, 0, c, 8, key_half);
      const int lane = machine.lane();
      for (int g = 0; g < kTransposedGroups / 2; ++g) {
        for (int u = 0; u < 5; ++u) {
          for (int i = 0; i < 8; ++i) {
            const auto [m, n] = element<Accumulator::kFp32>(lane, i);
            const int key = transposed_key(grid_row_half(lane), g + 2 * key_half, m);
            const int half = grid_column_half(lane);
            const int column =
                u == 4 ? 64 + 8 * (n >> 2) + 4 * half + (n & 3)
                       : 32 * (u / 2) + 16 * half + 8 * (n >> 2) + 4 * (u % 2) + (n & 3);
            float want = 0.0f;
            for (int row = 0; row < 16 * kTiles; ++row) want += p[row][key] * b[row][column];
            EXPECT_EQ(c[g][u].element[i], want) << "key " << key << ", column " << column;
          }
        }
      }
    });
    EXPECT_EQ(report.findings_total, 0u);
    EXPECT_EQ(report.counters.bank_conflicts, 0u);
  }
}

TEST(TransposedProduct, HasEachOfItsKeysOnce) {
  std::array<int, kTransposedKeys> times = {};
  for (int r = 0; r < 2; ++r) {
    for (int g = 0; g < kTransposedGroups; ++g) {
      for (int m = 0; m < 8; ++m) ++times[transposed_key(r, g, m)];
    }
  }
  for (const int count : times) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace sparkbench
