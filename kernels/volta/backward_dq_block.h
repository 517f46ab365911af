// A block of the deterministic dQ kernel (backward_dq.h): its constants, its shared memory, its
// place in the problem, and what it loads first.
#pragma once

#include "kernels/tile/staged_rows.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"

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

/// What a block computes, where its keys are, and the statistics of this lane's rows.
template <class Config>
struct BackwardDqBlock {
  int batch, head, first_row;
  int unmasked_end;  // every row of the block sees every key before this one
  int key_end;       // no row of the block sees a key from here on
  TensorRows k, v;
  std::uint32_t batch_head;
  RowStatistics statistics[Config::kScoreGroups][Config::Layout::kRowsPerLane];
};

template <class Config, class Machine>
SPARK_DEVICE BackwardDqBlock<Config> locate_dq(Machine& machine, const BackwardParams& params) {
  const KeyMask& mask = params.mask;
  BackwardDqBlock<Config> block;
  block.batch = machine.block(2);
  block.head = machine.block(1);
  block.first_row = machine.block(0) * Config::kBlockM;
  block.unmasked_end = mask.keys(block.first_row).end / Config::kBlockN * Config::kBlockN;
  block.key_end = mask.keys(block.first_row + Config::kBlockM - 1).end;
  block.batch_head = static_cast<std::uint32_t>(block.batch * params.heads + block.head);
  const int row_stride = params.heads * Config::kHeadDim;
  const std::size_t offset =
      row_offset(block.batch, 0, block.head, mask.seqlen_k, params.heads, Config::kHeadDim);
  block.k = {params.tensors.k.data + offset, row_stride, block.key_end};
  block.v = {params.tensors.v.data + offset, row_stride, block.key_end};
#pragma unroll
  for (int g = 0; g < Config::kScoreGroups; ++g) {
    const int first_row = block.first_row + kGridRows * (Config::kScoreGroups * machine.warp() + g);
    load_statistics<Config::kAccumulator>(
        machine, params.workspace.statistics_of(block.batch_head, first_row), block.statistics[g]);
  }
  return block;
}

/// Line 1. Each warp fills its own rows of every tile.
template <class Config, class Machine>
SPARK_DEVICE void load_first_tiles(Machine& machine, const BackwardParams& params,
                                   const BackwardDqBlock<Config>& block,
                                   BackwardDqTiles<Config>& tiles) {
  const std::size_t offset = row_offset(block.batch, block.first_row, block.head,
                                        params.mask.seqlen_q, params.heads, Config::kHeadDim);
  const int valid_rows = params.mask.seqlen_q - block.first_row;
  typename Config::StagedQueries q, d_o;
  q.load(machine, {params.tensors.q.data + offset, block.k.row_stride, valid_rows});
  q.store(machine, tiles.q);
  d_o.load(machine, {params.tensors.d_o.data + offset, block.k.row_stride, valid_rows});
  d_o.store(machine, tiles.d_o);
  typename Config::StagedKeys k, v;
  k.load(machine, block.k);
  v.load(machine, block.v);
  k.store(machine, tiles.k[0]);
  v.store(machine, tiles.v[0]);
  machine.barrier();
}

}  // namespace sparkbench::volta
