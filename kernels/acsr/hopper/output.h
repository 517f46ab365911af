// R-SpMM on Hopper: O = P V over the values of each row; and dQ = scale dS K.
//
// One block computes 128 rows of one class, on tensor cores by wgmma:
//    1  for each tile of 64 places that some row sees:
//    2      P of the rows, 0 where one has none, and V of the places to shared memory, loaded tiles
//           ahead
//    3      O += P V
//    4  O, rounded to fp16, to global memory
#pragma once

#include "kernels/acsr/block.h"
#include "kernels/acsr/hopper/config.h"
#include "kernels/acsr/hopper/tile_ring.h"

namespace sparkbench::acsr::hopper {

template <class Config, class Machine>
class OutputWarp {
  using Tiles = OutputTiles<Config>;
  using Walk = TileWalk<Config::kThreads, kPanelChunks>;
  static constexpr int kWarpgroupRows = wgmma::kM;
  static constexpr int kRows = wgmma::kWarpM;
  static constexpr int kCopies = kBlockRows / Walk::kRowsAtOnce;
  using Fragment = m16n8k16::FragmentC<Accumulator::kFp32>;

 public:
  SPARK_DEVICE OutputWarp(Machine& machine, const ChainParams& params,
                          const ChainBlock<Machine>& block)
      : machine_(machine),
        params_(params),
        block_(block),
        tiles_(machine.template shared<Tiles>()),
        warpgroup_(machine.uniform(machine.warp()) / wgmma::kWarps),
        places_(places_of_rows<kWarpgroupRows>(machine, block, kWarpgroupRows * warpgroup_)) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      values_of_[i] = RowValues(block_.row(Walk::row(machine_.thread(), i)));
    }
    clear(o_);
  }

  /// Line 2.
  SPARK_DEVICE void copy(int stage, int first) {
    typename Tiles::Stage& to = tiles_.stage[stage];
    const int chunk = Walk::chunk(machine_.thread()), of_rows = first / kChunkPlaces + chunk;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int row = Walk::row(machine_.thread(), i);
      const bool exists = values_of_[i].has(of_rows);
      machine_.copy_async(to.p[row / kWarpgroupRows].at(row % kWarpgroupRows, chunk),
                          exists ? block_.values(values_of_[i].origin, of_rows) : nullptr, exists);
    }
    copy_tile<Config::kThreads>(machine_, to.v, params_.head_chunks, [&](int row) -> const Half* {
      return block_.key(params_.v, first + row);
    });
  }
  /// Line 3.
  SPARK_DEVICE void multiply(int stage, int first) {
    if (places_.are_none_of(first, first + kTileKeys)) return;
    const typename Tiles::Stage& of = tiles_.stage[stage];
    const std::uint64_t p = describe_rows(machine_, of.p[warpgroup_]);
    const std::uint64_t v = describe_columns(machine_, of.v);
    machine_.fence_products();
#pragma unroll
    for (int step = 0; step < kTileKeys / wgmma::kK; ++step) {
      machine_.template multiply_async<Config::kHeadDim, kRowsAreK>(
          o_, p + columns_step<typename Tiles::Probabilities>(step), v + rows_step(step), true);
    }
    machine_.commit_products();
    machine_.template wait_for_products<0>();
  }
  /// Line 4. Nothing reads stages any more.
  SPARK_DEVICE void write() {
    const int of_warp = kRows * machine_.warp();
    auto& tile = tiles_.output;
    store_accumulator(machine_, tile, of_warp, 0, {params_.output_scale, params_.output_scale}, o_);
    machine_.sync_warp();
    write_tile_rows<kRows>(machine_, tile, of_warp, params_.head_chunks,
                           [&](int row) { return block_.query(params_.o, block_.row(row).row); });
  }

 private:
  Machine& machine_;
  const ChainParams& params_;
  const ChainBlock<Machine>& block_;
  Tiles& tiles_;
  const int warpgroup_;
  const RowPlaces places_;  // of the warpgroup
  RowValues values_of_[kCopies];
  Fragment o_[Config::kHeadDim / m16n8k16::kN];
};

template <class Config, class Machine>
SPARK_DEVICE void compute_output(Machine& machine, const ChainParams& params) {
  const ChainBlock<Machine> block(machine, params, machine.block(0));
  if (block.row_count() == 0) return;
  OutputWarp<Config, Machine> warp(machine, params, block);
  const auto first_of = [&](int tile) { return block.begin() + kTileKeys * tile; };
  multiply_tiles<Config::kStages>(
      machine, (block.end() - block.begin() + kTileKeys - 1) / kTileKeys,   // line 1
      [&](int tile, int stage) { warp.copy(stage, first_of(tile)); },       // line 2
      [&](int tile, int stage) { warp.multiply(stage, first_of(tile)); });  // line 3
  machine.barrier();
  warp.write();  // line 4
}

}  // namespace sparkbench::acsr::hopper
