#include "kernels/volta/tile/dense_tile.h"

#include <gtest/gtest.h>

#include <set>

namespace sparkbench {
namespace {

using TileOf80 = DenseTile<64, 80>;

std::ptrdiff_t byte_of(TileOf80& tile, const Bits128* chunk) {
  return reinterpret_cast<const unsigned char*>(chunk) - reinterpret_cast<unsigned char*>(&tile);
}

TEST(DenseTile, HasAPlaceForEachChunk) {
  TileOf80 tile;
  std::set<std::ptrdiff_t> places;
  for (int row = 0; row < TileOf80::kRows; ++row) {
    for (int chunk = 0; chunk < TileOf80::kChunks; ++chunk) {
      const std::ptrdiff_t place = byte_of(tile, tile.at(row, chunk));
      EXPECT_EQ(place % 16, 0);
      EXPECT_GE(place, 0);
      EXPECT_LE(place + 16, static_cast<std::ptrdiff_t>(sizeof tile));
      EXPECT_TRUE(places.insert(place).second) << row << ", " << chunk;
    }
  }
}

TEST(DenseTile, BeginsEvery16RowsAtAPlaceOfTheirOwn) {
  TileOf80 tile;
  for (int row = 0; row < TileOf80::kRows; row += 16) {
    for (int chunk = 0; chunk < TileOf80::kChunks; ++chunk) {
      EXPECT_EQ(tile.at(row + 9, chunk) - tile.from_row(row), tile.at(9, chunk) - tile.at(0, 0));
    }
  }
}

TEST(DenseTile, FindsChunksFromALanesPlace) {
  TileOf80 tile;
  for (int lane_row = 0; lane_row < 16; ++lane_row) {
    for (int row = 0; row < TileOf80::kRows; row += 16) {
      for (int chunk = 0; chunk < TileOf80::kChunks; ++chunk) {
        EXPECT_EQ(tile.at(TileOf80::lane_place(lane_row, 0), row, chunk),
                  tile.at(row + lane_row, chunk));
      }
    }
  }
  for (const int lane_row : {0, 1, 8, 9}) {
    for (int lane_chunk = 0; lane_chunk < 4; ++lane_chunk) {
      for (const int row : {0, 2, 4, 6, 16, 22, 54}) {
        for (const int chunk : {0, 4}) {
          EXPECT_EQ(tile.at(TileOf80::lane_place(lane_row, lane_chunk), row, chunk),
                    tile.at(row + lane_row, chunk + lane_chunk));
        }
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench
