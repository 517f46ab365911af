// R-SDDMM on Hopper: the scores of a pattern's pairs alone, each row's to its place in memory.
//
// One block computes 128 rows of one class, on tensor cores by wgmma:
//    1  Q of the rows to shared memory
//    2  for each tile of 64 places that some row sees:
//    3      K of these places to shared memory, loaded tiles ahead
//    4      S = Q K^T
//    5      S = scale * S, or -inf where the row does not see the place; and dP = dO V^T, or 0
//    6      S, rounded to fp16, to the rows' values, in whole chunks of 8
#pragma once

#include "kernels/acsr/block.h"
#include "kernels/acsr/hopper/config.h"
#include "kernels/acsr/hopper/tile_ring.h"

namespace sparkbench::acsr::hopper {

template <class Config, class Machine>
class ScoresWarp {
  using Tiles = ScoresTiles<Config>;
  using Walk = TileWalk<32, kPanelChunks>;
  static constexpr int kRows = wgmma::kWarpM;
  static constexpr int kWrites = kRows / Walk::kRowsAtOnce;
  static constexpr int kSteps = kTileKeys / m16n8k16::kN;
  using Fragment = m16n8k16::FragmentC<Accumulator::kFp32>;

 public:
  SPARK_DEVICE ScoresWarp(Machine& machine, const ChainParams& params,
                          const ChainBlock<Machine>& block)
      : machine_(machine),
        params_(params),
        block_(block),
        tiles_(machine.template shared<Tiles>()),
        warpgroup_(machine.uniform(machine.warp()) / wgmma::kWarps),
        first_row_(kRows * machine.warp()),
        places_(places_of_rows<wgmma::kM>(machine, block, wgmma::kM * warpgroup_)),
        q_(describe_rows(machine, tiles_.q[warpgroup_])) {
#pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
      const AffineRow row = block_.row(first_row_ + m16n8k16::c_row(machine_.lane(), 2 * slot));
      first_[slot] = row.first;
      count_[slot] = row.end - row.first;
    }
#pragma unroll
    for (int i = 0; i < kWrites; ++i) {
      values_of_[i] = RowValues(block_.row(first_row_ + Walk::row(machine_.lane(), i)));
    }
  }

  /// Line 1.
  SPARK_DEVICE void copy_queries() {
#pragma unroll
    for (int of = 0; of < Config::kWarpgroups; ++of) {
      copy_tile<Config::kThreads>(
          machine_, tiles_.q[of], params_.head_chunks, [&](int row) -> const Half* {
            return block_.query(params_.q, block_.row(wgmma::kM * of + row).row);
          });
    }
  }
  /// Line 3.
  SPARK_DEVICE void copy_keys(int stage, int first) {
    copy_tile<Config::kThreads>(
        machine_, tiles_.k[stage], params_.head_chunks,
        [&](int row) -> const Half* { return block_.key(params_.k, first + row); });
  }
  /// Lines 4 to 6.
  SPARK_DEVICE void multiply(int stage, int first) {
    if (places_.are_none_of(first, first + kTileKeys)) return;
    const std::uint64_t k = describe_rows(machine_, tiles_.k[stage]);
    Fragment score[kSteps];
    machine_.fence_products();
#pragma unroll
    for (int step = 0; step < Config::kHeadDim / wgmma::kK; ++step) {
      machine_.template multiply_async<kTileKeys, kColumnsAreK>(
          score, q_ + columns_step<typename Tiles::Rows>(step),
          k + columns_step<typename Tiles::Keys>(step), step > 0);
    }
    machine_.commit_products();
    machine_.template wait_for_products<0>();
    scale_and_hide(first, !places_.have_all_of(first, first + kTileKeys), score);
    write(first, score);
  }

 private:
  /// Line 5.
  SPARK_DEVICE void scale_and_hide(int first, bool is_cut, Fragment (&score)[kSteps]) const {
    const int of_lane = first + m16n8k16::c_column(machine_.lane(), 0);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& value = score[step].element[i];
        value *= params_.scale;
        const int place = of_lane + m16n8k16::kN * step + (i & 1);
        if (is_cut && !sees(i / 2, place)) value = params_.hidden;
      }
    }
  }
  SPARK_DEVICE bool sees(int slot, int place) const {
    return static_cast<unsigned>(place - first_[slot]) < static_cast<unsigned>(count_[slot]);
  }
  /// Line 6.
  SPARK_DEVICE void write(int first, const Fragment (&score)[kSteps]) {
    machine_.sync_warp();
    store_accumulator(machine_, tiles_.staged, first_row_, 0, {1.0f, 1.0f}, score);
    machine_.sync_warp();
    Bits128 bits[kWrites];
    load_tile_rows(machine_, tiles_.staged, first_row_, 0, bits);
    const int chunk = first / kChunkPlaces + Walk::chunk(machine_.lane());
#pragma unroll
    for (int i = 0; i < kWrites; ++i) {
      if (values_of_[i].has(chunk)) {
        machine_.store_global(block_.values(values_of_[i].origin, chunk), bits[i]);
      }
    }
  }

  Machine& machine_;
  const ChainParams& params_;
  const ChainBlock<Machine>& block_;
  Tiles& tiles_;
  const int warpgroup_, first_row_;
  const RowPlaces places_;  // of the warpgroup
  const std::uint64_t q_;
  int first_[2], count_[2];
  RowValues values_of_[kWrites];
};

template <class Config, class Machine>
SPARK_DEVICE void compute_scores(Machine& machine, const ChainParams& params) {
  const ChainBlock<Machine> block(machine, params, machine.block(0));
  if (block.begin() >= block.end()) return;
  ScoresWarp<Config, Machine> warp(machine, params, block);
  const auto first_of = [&](int tile) { return block.begin() + kTileKeys * tile; };
  warp.copy_queries();  // line 1, with the first tile
  multiply_tiles<Config::kStages>(
      machine, (block.end() - block.begin() + kTileKeys - 1) / kTileKeys,   // line 2
      [&](int tile, int stage) { warp.copy_keys(stage, first_of(tile)); },  // line 3
      [&](int tile, int stage) { warp.multiply(stage, first_of(tile)); });  // lines 4 to 6
}

}  // namespace sparkbench::acsr::hopper
