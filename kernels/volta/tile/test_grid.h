// Shared by the tests of products in a 2 x 2 grid of quad-pairs: tiles of small whole numbers,
// whose products are exact in every accumulator.
#pragma once

#include <array>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

/// A matrix of small whole numbers, different in every row and column.
template <int kRows, int kColumns>
std::array<std::array<float, kColumns>, kRows> small_numbers(int salt) {
  std::array<std::array<float, kColumns>, kRows> matrix;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      matrix[row][column] =
          static_cast<float>((7 * row + 3 * column + row * column + salt) % 5 - 2);
    }
  }
  return matrix;
}

/// Eight values as fp16.
inline Bits128 halves_of(const std::array<float, 8>& value) {
  Bits128 bits;
  for (std::size_t i = 0; i < 4; ++i) {
    bits.word[i] = to_half(value[2 * i]).bits |
                   static_cast<std::uint32_t>(to_half(value[2 * i + 1]).bits) << 16;
  }
  return bits;
}

/// Stores a matrix in a SwizzledTile or the like, by the lanes of one warp.
template <class Tile, class Matrix>
void store_matrix(EmulatedMachine& machine, Tile& tile, const Matrix& matrix) {
  constexpr int kChunks = Tile::kChunks;
  for (int index = machine.lane(); index < Tile::kRows * kChunks; index += 32) {
    std::array<float, 8> value;
    for (int i = 0; i < 8; ++i) value[i] = matrix[index / kChunks][8 * (index % kChunks) + i];
    machine.store_shared(tile.at(index / kChunks, index % kChunks), halves_of(value));
  }
}

}  // namespace sparkbench
