// A block of the deterministic dQ kernel (backward_dq.h): its constants, its shared memory, its
// place in the problem, and what it loads first.
#pragma once

#include "kernels/tile/staged_rows.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"
#include "kernels/volta/tile/statistics_rows.h"

namespace sparkbench::volta {

template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout, int kRows>
struct BackwardDqShape {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr bool kHasDropout = kDropout;
  static constexpr int kBlockM = kRows;
  static constexpr int kBlockN = 32;
  static constexpr int kColumnWarps = kHeadDim / 64;  // warps that share 32 rows
  static constexpr int kWarps = kBlockM / kWarpRows * kColumnWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kKeySteps = kBlockN / kGridColumns;
  static constexpr int kScoreGroups = kBlockM / kGridRows / kWarps;  // of a warp, lines 3 to 5
  /// That 255 registers a thread and 96 KiB of shared memory allow.
  static constexpr int kBlocksPerSm = kHeadDim == 64 ? 2 : 1;
  using Layout = GridLayout<kAccumulator>;
  using QueryTile = SwizzledTile<kBlockM, kHeadDim>;
  using KeyTile = SwizzledTile<kBlockN, kHeadDim>;
  using StagedQueries = StagedRows<QueryTile, kWarps>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
};

/// Where an SM has 96 KiB of shared memory.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout>
struct BackwardDqConfig : BackwardDqShape<kAccumulator, kHeadDim, kHasDropout, 128> {};

/// Rows of a block at head_dim 128 where an SM has 64 KiB (Turing).
inline constexpr int kBackwardDqRowsOf64KiB = 64;

/// dQ of a warp: 32 rows and 64 columns, in the order of matmul_probabilities.
using DqOfWarp = AccumulatorFragment<Accumulator::kFp32>[kRowGroups][4];

/// Which 16-row groups and which 64 columns of dQ a warp has.
template <class Config>
struct DqShare {
  int first_group, column_block;

  SPARK_DEVICE explicit DqShare(int warp)
      : first_group(kRowGroups * (warp / Config::kColumnWarps)),
        column_block(warp % Config::kColumnWarps) {}
};

/// All of a block's shared memory. While a block works on one pair of K and V tiles, the place of
/// the other has dS.
template <class Config>
struct BackwardDqTiles {
  typename Config::QueryTile q, d_o;
  typename Config::KeyTile k[2], v[2];

  /// dS of a 16-row group of the block, in the place of the tiles of `buffer`.
  SPARK_DEVICE ProbabilityTile<Config::kBlockN>* gradients(int buffer, int group) {
    using Tile = ProbabilityTile<Config::kBlockN>;
    constexpr int kInKeys = sizeof(typename Config::KeyTile) / sizeof(Tile);
    static_assert(2 * kInKeys >= Config::kBlockM / kGridRows, "K and V make room for dS");
    return group < kInKeys ? reinterpret_cast<Tile*>(&k[buffer]) + group
                           : reinterpret_cast<Tile*>(&v[buffer]) + (group - kInKeys);
  }

  /// dQ of 16 rows and 64 columns of a warp, in the place of Q.
  SPARK_DEVICE OutputTile<64>* output(int warp, int g) {
    static_assert(Config::kWarps * kRowGroups * sizeof(OutputTile<64>) <= sizeof q,
                  "Q makes room for dQ");
    return reinterpret_cast<OutputTile<64>*>(&q) + kRowGroups * warp + g;
  }
};

/// What a block computes, and the statistics of this lane's rows.
template <class Config>
struct BackwardDqBlock {
  int batch, head, first_row;
  Range keys;      // that some row of the block sees
  Range all_seen;  // that every row sees
  std::uint32_t batch_head;
  RowStatistics statistics[Config::kScoreGroups][Config::Layout::kRowsPerLane];

  /// K or V from a key on, of those that the block sees.
  SPARK_DEVICE TensorRows rows(const ChunkedView<const Half>& tensor, int first_key) const {
    return {tensor.at(batch, first_key, head), tensor.row_stride(), keys.end - first_key};
  }
};

template <class Config, class Machine>
SPARK_DEVICE BackwardDqBlock<Config> locate_dq(Machine& machine, const BackwardParams& params) {
  BackwardDqBlock<Config> block;
  block.batch = machine.block(2);
  block.head = machine.block(1);
  block.first_row = machine.block(0) * Config::kBlockM;
  const Range rows{block.first_row, block.first_row + Config::kBlockM};
  block.keys = params.mask.keys_of_any(rows);
  block.all_seen = params.mask.keys_of_all(rows);
  block.batch_head = static_cast<std::uint32_t>(block.batch * params.heads + block.head);
#pragma unroll
  for (int g = 0; g < Config::kScoreGroups; ++g) {
    const int first_row = block.first_row + kGridRows * (Config::kScoreGroups * machine.warp() + g);
    load_statistics<Config::kAccumulator>(
        machine, params.workspace.statistics_of(block.batch_head, first_row), block.statistics[g]);
  }
  return block;
}

/// Line 1: the keys from first_key on. Each warp fills its own rows of every tile.
template <class Config, class Machine>
SPARK_DEVICE void load_first_tiles(Machine& machine, const BackwardParams& params,
                                   const BackwardDqBlock<Config>& block, int first_key,
                                   BackwardDqTiles<Config>& tiles) {
  const auto rows = [&](const ChunkedView<const Half>& tensor) {
    return TensorRows{tensor.at(block.batch, block.first_row, block.head), tensor.row_stride(),
                      params.mask.seqlen_q - block.first_row};
  };
  const int buffer = (first_key / Config::kBlockN) & 1;
  typename Config::StagedQueries q, d_o;
  q.load(machine, rows(params.q));
  q.store(machine, tiles.q);
  d_o.load(machine, rows(params.d_o));
  d_o.store(machine, tiles.d_o);
  typename Config::StagedKeys k, v;
  k.load(machine, block.rows(params.k, first_key));
  v.load(machine, block.rows(params.v, first_key));
  k.store(machine, tiles.k[buffer]);
  v.store(machine, tiles.v[buffer]);
  machine.barrier();
}

}  // namespace sparkbench::volta
