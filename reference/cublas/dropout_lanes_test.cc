#include "reference/cublas/dropout_lanes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace sparkbench {
namespace {

constexpr std::uint32_t kHead = 11;
constexpr std::uint32_t kWordColumn[kWordChunks] = {128, 384, 640, 1024};  // of the four chunks

std::uint32_t drawn(const Dropout& dropout, std::uint32_t row, int n) {
  const std::uint32_t column = kWordColumn[chunk_of_block(n)];
  return dropped_of_block(
      dropout, kHead,
      dropout_block(row, column + 2 * static_cast<std::uint32_t>(pair_of_block(n))));
}

template <int kDistance, std::size_t kLanes>
void exchange(std::array<std::uint32_t, kLanes>& words, std::size_t distance) {
  const auto before = words;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    words[lane] =
        exchange_bits<kDistance>(before[lane], before[lane ^ distance], (lane & distance) != 0);
  }
}
template <std::size_t kLanes>
void exchange_of_row(std::array<std::uint32_t, kLanes>& words) {
  exchange<4>(words, 4);
  exchange<2>(words, 2);
  exchange<1>(words, 1);
}

void expect_columns(const Dropout& dropout, std::uint32_t row, std::size_t lane,
                    std::uint32_t word) {
  for (int chunk = 0; chunk < kWordChunks; ++chunk) {
    for (int column = 0; column < 8; ++column) {
      const bool is_dropped = (word >> dropped_column_bit(chunk, column / 2, column % 2) & 1u) != 0;
      EXPECT_EQ(!is_dropped,
                dropout_keeps(dropout, kHead, row,
                              kWordColumn[chunk] + 8 * static_cast<std::uint32_t>(lane) +
                                  static_cast<std::uint32_t>(column)));
    }
  }
}

TEST(DropoutLanes, OfTwoRowsHaveTheDefinitionsMask) {
  const Dropout dropout = make_dropout(0.4f, 3);
  constexpr std::uint32_t kRow = 37;
  std::array<std::uint32_t, 16> words;
  for (std::size_t lane = 0; lane < 16; ++lane) {
    words[lane] = drawn(dropout, kRow + lane / 8 * 8, static_cast<int>(lane));
  }
  exchange<16>(words, 8);
  exchange_of_row(words);
  for (std::size_t lane = 0; lane < 16; ++lane) {
    expect_columns(dropout, kRow + static_cast<std::uint32_t>(lane / 8 * 8), lane % 8, words[lane]);
  }
}

TEST(DropoutLanes, OfOneRowHaveTheDefinitionsMask) {
  const Dropout dropout = make_dropout(0.4f, 3);
  for (const std::uint32_t row : {37u, 45u}) {
    std::array<std::uint32_t, 8> words;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      words[lane] = row_of_blocks(drawn(dropout, row, static_cast<int>(lane)),
                                  drawn(dropout, row, static_cast<int>(lane) + 8), (row & 8) != 0);
    }
    exchange_of_row(words);
    for (std::size_t lane = 0; lane < 8; ++lane) expect_columns(dropout, row, lane, words[lane]);
  }
}

}  // namespace
}  // namespace sparkbench
