#include "kernels/machine/emulated/tensor_core/warp_tiles.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace sparkbench {
namespace {

/// Lane l's element i is the half of bits 4 * l + i: every element of a warp is another.
WarpOperands numbered_operands() {
  WarpOperands operands;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::uint32_t low = 4 * lane + 2 * i;
      operands.pair[lane][i] = low | (low + 1) << 16;
    }
  }
  return operands;
}

/// Where the table of PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16", puts element i.
struct Place {
  int row, column;
};
Place place_of_a(Major major, int lane, int i) {
  const int high = lane >= 16 ? 4 : 0;
  return major == Major::kRow ? Place{lane % 4 + high, i} : Place{i % 4 + high, lane % 4};
}
Place place_of_b(Major major, int lane, int i) {
  const int high = lane >= 16 ? 4 : 0;
  return major == Major::kRow ? Place{lane % 4, i + high} : Place{i, lane % 4 + high};
}

TEST(WarpTiles, PutOperandElementsWherePtxTablesSay) {
  const WarpOperands lanes = numbered_operands();
  for (const Major major : {Major::kRow, Major::kColumn}) {
    WarpOperandTiles tiles;
    gather_a(major, lanes, tiles);
    gather_b(major, lanes, tiles);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const Place a = place_of_a(major, lane, i);
        const Place b = place_of_b(major, lane, i);
        EXPECT_EQ(tiles.a[quad_pair(lane)][a.row][a.column].bits, 4 * lane + i);
        EXPECT_EQ(tiles.b[quad_pair(lane)][b.row][b.column].bits, 4 * lane + i);
      }
    }
  }
}

TEST(WarpTiles, CoverEveryOperandTileExactlyOnce) {
  const WarpOperands lanes = numbered_operands();
  for (const Major major : {Major::kRow, Major::kColumn}) {
    WarpOperandTiles tiles;
    gather_a(major, lanes, tiles);
    gather_b(major, lanes, tiles);
    std::array<int, 128> seen_a{}, seen_b{};
    for (int i = 0; i < 128; ++i) {
      ++seen_a.at((&tiles.a[0][0][0])[i].bits);
      ++seen_b.at((&tiles.b[0][0][0])[i].bits);
    }
    for (int i = 0; i < 128; ++i) {
      EXPECT_EQ(seen_a[static_cast<std::size_t>(i)], 1);
      EXPECT_EQ(seen_b[static_cast<std::size_t>(i)], 1);
    }
  }
}

template <Accumulator kAccumulator>
struct Fragments {
  AccumulatorFragment<kAccumulator> lane[32];
  AccumulatorFragment<kAccumulator>* pointers[32];
  Fragments() {
    for (int i = 0; i < 32; ++i) pointers[i] = &lane[i];
  }
};

TEST(WarpTiles, PutFp32AccumulatorsWherePtxTablesSay) {
  Fragments<Accumulator::kFp32> fragments;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) fragments.lane[lane].element[i] = static_cast<float>(8 * lane + i);
  }
  WarpAccumulatorTiles tiles;
  gather(fragments.pointers, tiles);
  std::array<int, 256> seen{};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      const int row = (lane & 1) + (i & 2) + (lane >= 16 ? 4 : 0);
      const int column = (i & 4) + (lane & 2) + (i & 1);
      const float value = tiles.value[quad_pair(lane)][row][column];
      EXPECT_EQ(value, static_cast<float>(8 * lane + i));
      ++seen.at(static_cast<std::size_t>(value));
    }
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
}

TEST(WarpTiles, PutFp16AccumulatorsWherePtxTablesSay) {
  Fragments<Accumulator::kFp16> fragments;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t low = 8 * lane + 2 * i;
      fragments.lane[lane].pair[i] = low | (low + 1) << 16;
    }
  }
  WarpAccumulatorTiles tiles;
  gather(fragments.pointers, tiles);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      const float expected = to_float(Half{static_cast<std::uint16_t>(8 * lane + i)});
      EXPECT_EQ(tiles.value[quad_pair(lane)][lane % 4 + (lane >= 16 ? 4 : 0)][i], expected);
    }
  }
}

template <Accumulator kAccumulator>
void expect_scatter_to_invert_gather(const Fragments<kAccumulator>& original) {
  WarpAccumulatorTiles tiles;
  gather(original.pointers, tiles);
  Fragments<kAccumulator> copy;
  scatter(tiles, copy.pointers);
  EXPECT_EQ(std::memcmp(original.lane, copy.lane, sizeof original.lane), 0);
}

TEST(WarpTiles, ScatterInvertsGather) {
  Fragments<Accumulator::kFp32> fp32;
  Fragments<Accumulator::kFp16> fp16;
  std::uint32_t next = 1;
  for (int lane = 0; lane < 32; ++lane) {
    for (float& element : fp32.lane[lane].element) element = static_cast<float>(next++);
    for (std::uint32_t& pair : fp16.lane[lane].pair) pair = (next++ * 0x9E3779B9u) & 0xbbffbbffu;
  }
  expect_scatter_to_invert_gather(fp32);
  expect_scatter_to_invert_gather(fp16);
}

}  // namespace
}  // namespace sparkbench
