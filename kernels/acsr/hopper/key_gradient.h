// R-SpMM with the transpose on Hopper: dV = P^T dO and dK = scale dS^T Q over the values of each
// row.
//
// One block computes 128 keys of one class, on tensor cores by wgmma:
//    1  for each query head that reads them, and each tile of 64 rows that see some of them:
//    2      the rows' values of these places, 0 where one has none, and their rows of dO or Q to
//           shared memory, loaded tiles ahead
//    3      dV += P^T dO
//    4  dV, rounded to fp16, to global memory
#pragma once

#include "kernels/acsr/block.h"
#include "kernels/acsr/hopper/config.h"
#include "kernels/acsr/hopper/tile_ring.h"

namespace sparkbench::acsr::hopper {

template <class Config, class Machine>
class KeyGradientWarp {
  using Tiles = KeyGradientTiles<Config>;
  using Walk = TileWalk<Config::kThreads, kBlockPlaces / kChunkPlaces>;
  static constexpr int kPlaces = wgmma::kWarpM;
  static constexpr int kCopies = kTileRows / Walk::kRowsAtOnce;
  using Fragment = m16n8k16::FragmentC<Accumulator::kFp32>;

 public:
  SPARK_DEVICE KeyGradientWarp(Machine& machine, const ChainParams& params,
                               const ChainKeys<Machine>& block)
      : machine_(machine),
        params_(params),
        block_(block),
        tiles_(machine.template shared<Tiles>()),
        warpgroup_(machine.uniform(machine.warp()) / wgmma::kWarps),
        row_(block.first_row()),
        head_(block.first_head()) {
    clear(sum_);
  }

  /// Line 2: the next tile's.
  SPARK_DEVICE void copy(int stage) {
    typename Tiles::Stage& to = tiles_.stage[stage];
    const Half* const values = block_.values_of(head_);
    const int chunk = Walk::chunk(machine_.thread());
    const int of_rows = block_.first_place() / kChunkPlaces + chunk;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int of_tile = Walk::row(machine_.thread(), i);
      const RowValues row(block_.row(row_ + of_tile));
      const bool exists = row.has(of_rows);
      machine_.copy_async(
          to.values.at(of_tile, chunk),
          exists ? values + std::int64_t{kChunkPlaces} * (row.origin + of_rows) : nullptr, exists);
    }
    copy_tile<Config::kThreads>(machine_, to.rows, params_.head_chunks,
                                [&](int of_tile) -> const Half* {
                                  const AffineRow row = block_.row(row_ + of_tile);
                                  return row.row < 0 ? nullptr : block_.query(row.row, head_);
                                });
    row_ += kTileRows;
    if (row_ >= block_.end_row()) {
      row_ = block_.first_row();
      ++head_;
    }
  }
  /// Line 3.
  SPARK_DEVICE void multiply(int stage) {
    const typename Tiles::Stage& of = tiles_.stage[stage];
    const std::uint64_t values =
        describe_columns(machine_, of.values) +
        static_cast<std::uint32_t>(warpgroup_) *
            static_cast<std::uint32_t>(descriptor_step(Tiles::Probabilities::kPanelBytes));
    const std::uint64_t rows = describe_columns(machine_, of.rows);
    machine_.fence_products();
#pragma unroll
    for (int step = 0; step < kTileRows / wgmma::kK; ++step) {
      machine_.template multiply_async<Config::kHeadDim, kRowsAreK, kRowsAreKOfA>(
          sum_, values + rows_step(step), rows + rows_step(step), true);
    }
    machine_.commit_products();
    machine_.template wait_for_products<0>();
  }
  /// Line 4. Nothing reads stages any more.
  SPARK_DEVICE void write() {
    const int of_warp = kPlaces * machine_.warp();
    auto& tile = tiles_.output;
    store_accumulator(machine_, tile, of_warp, 0, {params_.output_scale, params_.output_scale},
                      sum_);
    machine_.sync_warp();
    write_tile_rows<kPlaces>(machine_, tile, of_warp, params_.head_chunks,
                             [&](int place) { return block_.key(place); });
  }

 private:
  Machine& machine_;
  const ChainParams& params_;
  const ChainKeys<Machine>& block_;
  Tiles& tiles_;
  const int warpgroup_;
  int row_, head_;  // of the next tile
  Fragment sum_[Config::kHeadDim / m16n8k16::kN];
};

template <class Config, class Machine>
SPARK_DEVICE void compute_key_gradient(Machine& machine, const ChainParams& params) {
  const ChainKeys<Machine> block(machine, params);
  if (!block.is_there()) return;
  KeyGradientWarp<Config, Machine> warp(machine, params, block);
  multiply_tiles<Config::kStages>(
      machine, block.tiles(),                                   // line 1
      [&](int /*tile*/, int stage) { warp.copy(stage); },       // line 2
      [&](int /*tile*/, int stage) { warp.multiply(stage); });  // line 3
  machine.barrier();
  warp.write();  // line 4
}

}  // namespace sparkbench::acsr::hopper
