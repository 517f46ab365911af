// dV and dK of the backward kernel (backward.h, lines 8 and 11). Half of the warps have dV, the
// others dK: 32 keys and 64 columns of both would take half of a warp's registers.
#pragma once

#include "kernels/tile/tile_accumulator.h"
#include "kernels/tile/transposed_product.h"
#include "kernels/volta/backward_block.h"

namespace sparkbench::volta {

/// Share `index` of 2 * 2 * kHeadDim / 64: which of dV and dK, which keys and which columns of it.
struct KeyGradientShare {
  bool is_dk;
  int key_half, column_block;  // of 32 keys, of 64 columns

  SPARK_DEVICE explicit KeyGradientShare(int index)
      : is_dk((index & 1) != 0), key_half((index >> 1) & 1), column_block(index >> 2) {}
};

/// 32 keys and 64 columns, in the order of matmul_transposed_probabilities.
inline constexpr int kKeyGradientGroups = 4;
using KeyGradient = AccumulatorFragment<Accumulator::kFp32>[2][kKeyGradientGroups];

/// Line 8: gradient += P^T dO, or dS^T Q. FP16-ACC sums 32 queries in FP16.
template <class Config, class Machine>
SPARK_DEVICE void add_key_gradient(Machine& machine, BackwardTiles<Config>& tiles,
                                   const KeyGradientShare& share, KeyGradient& gradient) {
  constexpr int kTiles = Config::kStep / kGridRows;
  auto& p = share.is_dk ? tiles.ds : tiles.p;
  auto& rows = share.is_dk ? tiles.q : tiles.d_o;
  const int first_block = 2 * share.column_block;
  if constexpr (Config::kAccumulator == Accumulator::kFp32) {
    matmul_transposed_probabilities<kTiles>(machine, p, 0, share.key_half, rows, first_block,
                                            gradient);
  } else {
#pragma unroll
    for (int first_tile = 0; first_tile < kTiles; first_tile += 2) {
      AccumulatorFragment<Accumulator::kFp16> sum[2][kKeyGradientGroups] = {};
      matmul_transposed_probabilities<2>(machine, p, first_tile, share.key_half, rows, first_block,
                                         sum);
#pragma unroll
      for (int g = 0; g < 2; ++g) {
#pragma unroll
        for (int group = 0; group < kKeyGradientGroups; ++group) {
          add_tile(machine, sum[g][group], 1.0f, gradient[g][group]);
        }
      }
    }
  }
}

/// Writes the 16 keys of tile g of a warp, a row of 128 bytes by eight lanes.
template <class Machine>
SPARK_DEVICE void write_key_rows(Machine& machine, OutputTile<64>& tile, int g,
                                 const OutputRows& rows) {
  const int chunk = machine.lane() % 8;
#pragma unroll
  for (int first = 0; first < kGridRows; first += 4) {
    const int row = first + machine.lane() / 8;
    const int key = transposed_key(row >> 3, g, row & 7);
    const auto bits = machine.template load_shared<Bits128>(tile.at(row, chunk));
    Half* const place = rows.first + static_cast<std::ptrdiff_t>(key) * rows.row_stride + 8 * chunk;
    if (key < rows.valid) machine.store_global(place, bits);
  }
}

/// Line 11: scale * dS^T Q, or P^T dO, both over 1 - dropout_p, rounded to fp16.
template <class Config, class Machine>
SPARK_DEVICE void write_key_gradient(Machine& machine, const BackwardParams& params,
                                     const BackwardBlock& block, BackwardTiles<Config>& tiles,
                                     const KeyGradientShare& share, const KeyGradient& gradient) {
  const float of_product =
      share.is_dk ? params.scale : 1.0f / ProbabilityScale<Config::kAccumulator>::kOfHalves;
  float factor[Config::Layout::kRowsPerLane];
#pragma unroll
  for (float& value : factor) value = of_product * params.dropout.keep_scale();

  const int first_key = block.first_key + kTransposedKeys * share.key_half;
  Half* const first = (share.is_dk ? params.tensors.dk : params.tensors.dv) +
                      row_offset(block.batch, first_key, block.head, params.mask.seqlen_k,
                                 params.heads, Config::kHeadDim) +
                      64 * share.column_block;
#pragma unroll
  for (int g = 0; g < 2; ++g) {
    OutputTile<64>& tile = *tiles.output(machine.warp(), g);
    store_output<Config::kAccumulator>(machine, tile, factor, gradient[g]);
    machine.sync_warp();
    write_key_rows(machine, tile, g, {first, block.q.row_stride, params.mask.seqlen_k - first_key});
    machine.sync_warp();
  }
}

}  // namespace sparkbench::volta
