#include "kernels/machine/emulated/tensor_core/warp_tiles.h"

#include <cstddef>
#include <cstring>

#include "kernels/machine/emulated/tensor_core/vector_clones.h"
#include "kernels/machine/emulated/tensor_core/vector_half.h"

namespace sparkbench {
namespace {

static_assert(sizeof(AccumulatorFragment<Accumulator::kFp16>) == 8 * sizeof(Half),
              "an fp16 accumulator fragment is a row of its tile, byte for byte");
static_assert(sizeof(WarpOperands::pair[0]) == 4 * sizeof(Half),
              "an operand fragment is four halves, the low one first");

/// Calls move(i, row, column) for the even elements i of a lane's fp32 fragment: element i + 1 is
/// the right neighbour.
template <typename Move>
void for_each_fp32_pair(int lane, Move move) {
  for (int i = 0; i < 8; i += 2) move(i, fp32_row(lane, i), fp32_column(lane, i));
}

}  // namespace

void gather_a(Major major, const WarpOperands& lanes, WarpOperandTiles& tiles) {
  for (int lane = 0; lane < 32; ++lane) {
    auto& tile = tiles.a[quad_pair(lane)];
    if (major == Major::kRow) {
      std::memcpy(tile[owned_row(lane)], lanes.pair[lane], sizeof lanes.pair[lane]);
      continue;
    }
    Half halves[4];
    std::memcpy(halves, lanes.pair[lane], sizeof halves);
    const int first_row = (lane & 16) >> 2;
    for (int i = 0; i < 4; ++i) tile[first_row + i][lane & 3] = halves[i];
  }
}

void gather_b(Major major, const WarpOperands& lanes, WarpOperandTiles& tiles) {
  for (int lane = 0; lane < 32; ++lane) {
    auto& tile = tiles.b[quad_pair(lane)];
    if (major == Major::kRow) {
      const int first_column = (lane & 16) >> 2;
      std::memcpy(&tile[lane & 3][first_column], lanes.pair[lane], sizeof lanes.pair[lane]);
      continue;
    }
    Half halves[4];
    std::memcpy(halves, lanes.pair[lane], sizeof halves);
    for (int i = 0; i < 4; ++i) tile[i][owned_row(lane)] = halves[i];
  }
}

void gather(AccumulatorFragment<Accumulator::kFp32>* const (&lanes)[32],
            WarpAccumulatorTiles& tiles) {
  for (int lane = 0; lane < 32; ++lane) {
    for_each_fp32_pair(lane, [&](int i, int row, int column) {
      std::memcpy(&tiles.value[quad_pair(lane)][row][column], &lanes[lane]->element[i],
                  2 * sizeof(float));
    });
  }
}

void scatter(const WarpAccumulatorTiles& tiles,
             AccumulatorFragment<Accumulator::kFp32>* const (&lanes)[32]) {
  for (int lane = 0; lane < 32; ++lane) {
    for_each_fp32_pair(lane, [&](int i, int row, int column) {
      std::memcpy(&lanes[lane]->element[i], &tiles.value[quad_pair(lane)][row][column],
                  2 * sizeof(float));
    });
  }
}

SPARKBENCH_VECTOR_CLONES
void gather(AccumulatorFragment<Accumulator::kFp16>* const (&lanes)[32],
            WarpAccumulatorTiles& tiles) {
  for (int lane = 0; lane < 32; ++lane) {
    Half halves[8];
    std::memcpy(halves, lanes[lane]->pair, sizeof halves);
    float* const row = tiles.value[quad_pair(lane)][owned_row(lane)];
    for (int i = 0; i < 8; ++i) row[i] = widened(halves[i]);
  }
}

SPARKBENCH_VECTOR_CLONES
void scatter(const WarpAccumulatorTiles& tiles,
             AccumulatorFragment<Accumulator::kFp16>* const (&lanes)[32]) {
  for (int lane = 0; lane < 32; ++lane) {
    const float* const row = tiles.value[quad_pair(lane)][owned_row(lane)];
    Half halves[8];
    for (int i = 0; i < 8; ++i) halves[i] = narrowed(row[i]);
    std::memcpy(lanes[lane]->pair, halves, sizeof halves);
  }
}

}  // namespace sparkbench
