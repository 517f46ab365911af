#include "kernels/volta/tile/quartet_tile.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <set>

#include "kernels/volta/tile/grid_matmul.h"

namespace sparkbench {
namespace {

constexpr int kLanesOfWavefront = 8, kBanks = 128;  // of 128-bit accesses; bytes

template <class Tile>
class QuartetTiles : public testing::Test {
 protected:
  std::ptrdiff_t byte_of(const void* place) {
    return static_cast<const unsigned char*>(place) - reinterpret_cast<unsigned char*>(&tile_);
  }
  /// Checks that each wavefront of a warp's accesses, lane by lane of `bytes` bytes, touches every
  /// bank once, or again at the same address.
  void expect_no_conflict(int bytes, const std::function<const void*(int lane)>& place_of) {
    const int lanes = kLanesOfWavefront * 16 / bytes;
    for (int first = 0; first < 32; first += lanes) {
      std::set<std::ptrdiff_t> places, banks;
      for (int lane = first; lane < first + lanes; ++lane) {
        const std::ptrdiff_t place = byte_of(place_of(lane));
        places.insert(place);
        banks.insert(place % kBanks);
      }
      EXPECT_EQ(places.size(), banks.size()) << "from lane " << first;
    }
  }

  Tile tile_;
};

using Tiles = testing::Types<QuartetTile<64, 80>, QuartetTile<64, 96>>;
TYPED_TEST_SUITE(QuartetTiles, Tiles);

TYPED_TEST(QuartetTiles, HaveAPlaceForEachChunk) {
  std::set<std::ptrdiff_t> places;
  for (int row = 0; row < TypeParam::kRows; ++row) {
    for (int chunk = 0; chunk < TypeParam::kChunksPerRow; ++chunk) {
      const std::ptrdiff_t place = this->byte_of(this->tile_.at(row, chunk));
      EXPECT_EQ(place % 16, 0);
      EXPECT_GE(place, 0);
      EXPECT_LE(place + 16, static_cast<std::ptrdiff_t>(sizeof this->tile_));
      EXPECT_TRUE(places.insert(place).second) << row << ", " << chunk;
    }
  }
}

TYPED_TEST(QuartetTiles, FindChunksFromALanesPlace) {
  for (int lane_row = 0; lane_row < 16; ++lane_row) {
    for (int row = 0; row < TypeParam::kRows; row += 16) {
      for (int chunk = 0; chunk < TypeParam::kChunks; ++chunk) {
        EXPECT_EQ(this->tile_.at(TypeParam::lane_place(lane_row, 0), row, chunk),
                  this->tile_.at(row + lane_row, chunk));
      }
    }
  }
  for (const int lane_row : {0, 1, 8, 9}) {
    for (int lane_chunk = 0; lane_chunk < 4; ++lane_chunk) {
      for (const int row : {0, 2, 4, 6, 16, 22, 54}) {
        for (const int chunk : {0, 4}) {
          EXPECT_EQ(this->tile_.at(TypeParam::lane_place(lane_row, lane_chunk), row, chunk),
                    this->tile_.at(row + lane_row, chunk + lane_chunk));
        }
      }
    }
  }
}

TYPED_TEST(QuartetTiles, HaveNoBankConflict) {
  using Tile = TypeParam;
  Tile& tile = this->tile_;
  for (int chunk = 0; chunk < Tile::kChunks; ++chunk) {
    SCOPED_TRACE(chunk);
    this->expect_no_conflict(16,
                             [&](int lane) { return tile.at(16 + grid_operand_row(lane), chunk); });
    this->expect_no_conflict(16, [&](int lane) {
      return tile.at(score_operand_place<Tile>(lane), 3 * kGridColumns, chunk);
    });
  }
  for (const int row : {0, 2, 4, 6, 22}) {
    SCOPED_TRACE(row);
    for (const int chunk : {0, 4}) {
      this->expect_no_conflict(
          16, [&](int lane) { return tile.at(output_operand_place<Tile>(lane), row, chunk); });
    }
    for (int chunk = 8; chunk < Tile::kChunks; chunk += 2) {
      this->expect_no_conflict(8, [&](int lane) {
        return reinterpret_cast<unsigned char*>(tile.at(half_block_place<Tile>(lane), row, chunk));
      });
    }
  }
  for (int row = 0; row < Tile::kRows; row += 32 / Tile::kLanesPerRow) {
    for (int chunk = 0; chunk < Tile::kChunksPerRow; chunk += Tile::kLanesPerRow) {
      this->expect_no_conflict(16, [&](int lane) {
        return tile.at(row + lane / Tile::kLanesPerRow, chunk + lane % Tile::kLanesPerRow);
      });
    }
  }
}

}  // namespace
}  // namespace sparkbench
