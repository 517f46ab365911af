// R-SDDMM: only the scores of a pattern's pairs, each row's to its values in memory.
//
// One block computes 128 rows of one class, on tensor cores by m8n8k4:
//    1  Q of the rows to shared memory
//    2  for each tile of 64 places that some row sees:
//    3      K of these places to shared memory, loaded a tile ahead
//    4      S = Q K^T
//    5      S = scale * S, or -inf where the row does not see the place; and dP = dO V^T, or 0
//    6      S, rounded to fp16, to the rows' values, in whole chunks of 8
#pragma once

#include "kernels/baselines/acsr/block.h"
#include "kernels/baselines/acsr/volta/config.h"

namespace sparkbench::acsr {

template <class Config, class Machine>
class ScoresWarp {
  using Layout = GridLayout<Accumulator::kFp32>;
  static constexpr int kSteps = Config::kWarpKeys / kGridColumns;
  static constexpr int kRowsAtOnce = 32 / StagedScores::kChunks;
  static constexpr int kWrites = kWarpRows / kRowsAtOnce;
  using Scores = AccumulatorFragment<Accumulator::kFp32>[kRowGroups][kSteps];

 public:
  SPARK_DEVICE ScoresWarp(Machine& machine, const ChainParams& params,
                          const ChainBlock<Machine>& block)
      : machine_(machine),
        params_(params),
        block_(block),
        tiles_(machine.template shared<ScoresTiles<Config>>()),
        first_row_(kWarpRows * (machine.warp() % Config::kRowWarps)),
        share_(machine.warp() / Config::kRowWarps),
        places_(places_of_rows<kWarpRows>(machine, block, first_row_)) {
#pragma unroll
    for (int i = 0; i < kRowGroups * Layout::kRowsPerLane; ++i) {
      const AffineRow row = block_.row(first_row_ + kGridRows * (i / Layout::kRowsPerLane) +
                                       Layout::row(machine_.lane(), i % Layout::kRowsPerLane));
      first_[i] = row.first;
      count_[i] = row.end - row.first;
    }
#pragma unroll
    for (int i = 0; i < kWrites; ++i) {
      values_of_[i] = RowValues(block_.row(first_row_ + written_row(i)));
    }
  }

  /// Line 1.
  SPARK_DEVICE void copy_queries() {
    CopiedRows<kBlockRows, Config::kRowChunks, Config::kWarps> rows;
    rows.load(machine_, params_.head_chunks, [&](int row) -> const Bits16* {
      return block_.query(params_.q, block_.row(row).row);
    });
    rows.store(machine_, [&](int row, int chunk) { return tiles_.q.at(row, chunk); });
  }
  /// Line 3.
  SPARK_DEVICE void load_keys(int first) {
    keys_.load(machine_, params_.head_chunks,
               [&](int row) -> const Bits16* { return block_.key(params_.k, first + row); });
  }
  SPARK_DEVICE void store_keys() {
    keys_.store(machine_, [&](int row, int chunk) {
      return tiles_.k[row / Config::kWarpKeys].at(row % Config::kWarpKeys, chunk);
    });
  }

  SPARK_DEVICE bool sees_some_of(int first_tile) const {
    const int first = first_tile + share_ * Config::kWarpKeys;
    return !places_.are_none_of(first, first + Config::kWarpKeys);
  }
  /// Line 4.
  SPARK_DEVICE void multiply(Scores& score) {
    matmul_scores<Accumulator::kFp32>(machine_, tiles_.q, first_row_, tiles_.k[share_], score);
  }
  /// Lines 5 and 6.
  SPARK_DEVICE void write(int first_tile, const Scores& score) {
    const int first = first_tile + share_ * Config::kWarpKeys;
    const bool is_cut = !places_.have_all_of(first, first + Config::kWarpKeys);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      machine_.sync_warp();
      stage(g, first, is_cut, score[g]);
      machine_.sync_warp();
#pragma unroll
      for (int i = kWrites / kRowGroups * g; i < kWrites / kRowGroups * (g + 1); ++i) {
        const auto bits = machine_.template load_shared<Bits128>(
            staged().at(written_row(i) % kGridRows, machine_.lane() % StagedScores::kChunks));
        const int chunk = first / kChunkPlaces + machine_.lane() % StagedScores::kChunks;
        if (values_of_[i].has(chunk)) {
          machine_.store_global(block_.values(values_of_[i].origin, chunk), bits);
        }
      }
    }
  }

 private:
  SPARK_DEVICE StagedScores& staged() { return tiles_.staged[machine_.warp()]; }
  SPARK_DEVICE int written_row(int i) const {
    return kRowsAtOnce * i + machine_.lane() / StagedScores::kChunks;
  }
  SPARK_DEVICE void stage(int g, int first, bool is_cut,
                          const AccumulatorFragment<Accumulator::kFp32> (&score)[kSteps]) {
    const int lane = machine_.lane();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
        const int pair = Layout::pair(lane, slot);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float value[2];
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int place = first + kGridColumns * step + 8 * half + 2 * pair + e;
            value[e] = params_.scale * score[step].element[quartet_element(slot, half, e)];
            if (is_cut && !sees(Layout::kRowsPerLane * g + slot, place)) value[e] = params_.hidden;
          }
          machine_.store_shared(staged().pair(Layout::row(lane, slot), 2 * step + half, pair),
                                machine_.pack_halves(value[0], value[1]));
        }
      }
    }
  }
  SPARK_DEVICE bool sees(int row, int place) const {
    return static_cast<unsigned>(place - first_[row]) < static_cast<unsigned>(count_[row]);
  }

  Machine& machine_;
  const ChainParams& params_;
  const ChainBlock<Machine>& block_;
  ScoresTiles<Config>& tiles_;
  int first_row_, share_;
  RowPlaces places_;
  int first_[kRowGroups * Layout::kRowsPerLane], count_[kRowGroups * Layout::kRowsPerLane];
  RowValues values_of_[kWrites];
  CopiedRows<kTileKeys, Config::kRowChunks, Config::kWarps> keys_;
};

template <class Config, class Machine>
SPARK_DEVICE void compute_scores(Machine& machine, const ChainParams& params) {
  const ChainBlock<Machine> block(machine, params, machine.block(0));
  if (block.begin() >= block.end()) return;
  ScoresWarp<Config, Machine> warp(machine, params, block);
  warp.load_keys(block.begin());
  warp.copy_queries();                                                     // line 1
  for (int tile = block.begin(); tile < block.end(); tile += kTileKeys) {  // line 2
    warp.store_keys();                                                     // line 3
    machine.barrier();
    warp.load_keys(tile + kTileKeys);
    const bool sees_some = warp.sees_some_of(tile);
    AccumulatorFragment<Accumulator::kFp32> score[kRowGroups][Config::kWarpKeys / kGridColumns] =
        {};
    if (sees_some) warp.multiply(score);  // line 4
    machine.barrier();
    if (sees_some) warp.write(tile, score);  // lines 5 and 6
  }
}

}  // namespace sparkbench::acsr
