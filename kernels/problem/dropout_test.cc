#include "kernels/problem/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace sparkbench {
namespace {

/// The byte of an element, of its eight planes.
std::uint32_t byte_of(const Dropout& dropout, std::uint32_t batch_head, std::uint32_t row,
                      std::uint32_t column) {
  std::uint32_t byte = 0;
  for (std::uint32_t k = 0; k < kDropoutPlanes; ++k) {
    const PhiloxBlock planes =
        dropout_planes(dropout, dropout.offset, batch_head, dropout_block(row, column), k >> 2);
    byte |= (planes.word[k & 3u] >> dropout_bit(row, column) & 1u) << k;
  }
  return byte;
}

TEST(DropoutBits, KeepWhereTheByteReachesTheThreshold) {
  for (const float p : {1 / 256.0f, 0.1f, 0.25f, 0.5f, 0.7f, 0.999f}) {
    const Dropout dropout = make_dropout(p, 33);
    for (std::uint32_t row = 5; row < 40; row += 3) {
      for (std::uint32_t column = 0; column < 200; ++column) {
        EXPECT_EQ(dropout_keeps(dropout, 7, row, column),
                  byte_of(dropout, 7, row, column) >= dropout.threshold);
      }
    }
  }
}

TEST(DropoutBits, OfThresholdZeroDropNothing) {
  const Dropout dropout = make_dropout(0.0f, 33);
  for (std::uint32_t block = 0; block < 100; ++block) {
    EXPECT_EQ(dropped_of_block(dropout, 0, {block & ~8u, 64 * block}), 0u);
  }
}

TEST(DropoutBits, OfEveryElementAreItsOwn) {
  std::map<std::tuple<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> bits;
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t column = 0; column < 192; ++column) {
      const DropoutBlock block = dropout_block(row, column);
      bits[{block.row, block.column}].push_back(dropout_bit(row, column));
    }
  }
  EXPECT_EQ(bits.size(), 64u * 192 / 32);
  for (auto& [block, of_block] : bits) {
    std::sort(of_block.begin(), of_block.end());
    ASSERT_EQ(of_block.size(), 32u);
    for (std::uint32_t bit = 0; bit < 32; ++bit) EXPECT_EQ(of_block[bit], bit);
  }
}

// A counter is (block.row, head, block.column | half, 0), so no two elements have the same bits
// if block and bit tell row and column, and half has a bit of its own.
TEST(DropoutBits, TellRowAndColumnOfAnySeqlen) {
  const std::uint32_t last = (1u << 31) - 1;
  for (const std::uint32_t row : {0u, 7u, 8u, 15u, 16u, 1u << 20, 3u << 29, last - 8, last}) {
    for (const std::uint32_t column : {0u, 1u, 6u, 63u, 64u, 65541u, 1u << 30, last - 63, last}) {
      const DropoutBlock block = dropout_block(row, column);
      const std::uint32_t bit = dropout_bit(row, column);
      EXPECT_EQ(block.row | bit >> 4 << 3, row);
      EXPECT_EQ(block.column | (bit & 7u) << 3 | (bit >> 3 & 1u), column);
      EXPECT_EQ(block.column & 1u, 0u);
    }
  }
}

// Heads, rows and columns whose element is the 2^31st of a tensor or a later one.
TEST(DropoutBits, DifferBeyondTwoToThe31Elements) {
  const Dropout dropout = make_dropout(0.5f, 1);
  std::vector<std::uint32_t> masks;
  for (const std::uint32_t head : {0u, 1u << 15, 1u << 31, ~0u}) {
    for (const std::uint32_t row : {0u, 1u << 16, 1u << 30}) {
      for (const std::uint32_t column : {0u, 1u << 16, 1u << 30}) {
        masks.push_back(dropped_of_block(dropout, head, dropout_block(row, column)));
      }
    }
  }
  std::sort(masks.begin(), masks.end());
  EXPECT_EQ(std::unique(masks.begin(), masks.end()), masks.end());
}

}  // namespace
}  // namespace sparkbench
