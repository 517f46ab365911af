// R-SpMM with the transpose: dV = P^T dO and dK = scale dS^T Q over the values of each row.
//
// One block computes 128 keys of one class, on tensor cores by m8n8k4:
//    1  for each query head that reads them, and each tile of 64 rows that see some of them:
//    2      the rows' values of these places, 0 where one has none, and their rows of dO or Q to
//           shared memory, loaded a tile ahead
//    3      dV += P^T dO
//    4  dV, rounded to fp16, to global memory
#pragma once

#include "kernels/baselines/acsr/block.h"
#include "kernels/baselines/acsr/volta/config.h"

namespace sparkbench::acsr {

template <class Config, class Machine>
class KeyGradientWarp {
  static constexpr int kRowsOfWarp = kTileRows / Config::kWarps;
  static constexpr int kValueChunks = kBlockPlaces / kChunkPlaces;  // of a row
  static constexpr int kRowsAtOnce = 32 / kValueChunks;
  static constexpr int kCopies = kRowsOfWarp / kRowsAtOnce;

 public:
  SPARK_DEVICE KeyGradientWarp(Machine& machine, const ChainParams& params,
                               const ChainKeys<Machine>& block)
      : machine_(machine),
        params_(params),
        block_(block),
        tiles_(machine.template shared<KeyGradientTiles<Config>>()),
        share_(machine.warp() % Config::kColumnWarps),
        places_(machine.warp() / Config::kColumnWarps),
        row_(block.first_row()),
        head_(block.first_head()) {}

  /// Line 2, for the next tile. Past the last tile there are zeros.
  SPARK_DEVICE void load() {
    const Half* const values = block_.values_of(head_);
    const int chunk = block_.first_place() / kChunkPlaces + machine_.lane() % kValueChunks;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const RowValues row(block_.row(row_ + copied_row(i)));
      copied_[i] = Bits128{};
      if (row.has(chunk)) {
        copied_[i] = machine_.template load_global<Bits128>(values + std::int64_t{kChunkPlaces} *
                                                                         (row.origin + chunk));
      }
    }
    of_rows_.load(machine_, params_.head_chunks, [&](int index) -> const Bits16* {
      const AffineRow row = block_.row(row_ + index);
      return row.row < 0 ? nullptr : block_.query(row.row, head_);
    });
    row_ += kTileRows;
    if (row_ >= block_.end_row()) {
      row_ = block_.first_row();
      ++head_;
    }
  }
  SPARK_DEVICE void store() {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const int row = copied_row(i), chunk = machine_.lane() % kValueChunks;
      machine_.store_shared(
          tiles_.values[chunk / 8][row / kGridRows].at(row % kGridRows, chunk % 8), copied_[i]);
    }
    of_rows_.store(machine_, [&](int row, int chunk) { return tiles_.rows.at(row, chunk); });
  }
  /// Line 3.
  SPARK_DEVICE void multiply() {
    matmul_transposed_probabilities<1>(machine_, tiles_.values[places_], tiles_.rows, share_, sum_);
  }
  /// Line 4. No warp reads values any more.
  SPARK_DEVICE void write() {
    OutputTile<64>& tile = tiles_.output(machine_.warp());
    constexpr int kChunks = 4, kRowsOfStore = 32 / kChunks;
    const int chunk = machine_.lane() % kChunks;
#pragma unroll
    for (int g = 0; g < kTransposedGroups; ++g) {
      machine_.sync_warp();
      store_output<Accumulator::kFp32>(machine_, tile, {params_.output_scale, params_.output_scale},
                                       sum_[g]);
      machine_.sync_warp();
#pragma unroll
      for (int first = 0; first < kGridRows; first += kRowsOfStore) {
        const int row = first + machine_.lane() / kChunks;
        const auto bits = machine_.template load_shared<Bits128>(tile.at(row, chunk));
        Bits16* const key = block_.key(kTransposedKeys * places_ + place_of(g, row));
        const int of_row = kChunks * share_ + chunk;
        if (key != nullptr && of_row < params_.head_chunks) {
          machine_.store_global(key + kChunkHalves * of_row, bits);
        }
      }
    }
  }

 private:
  SPARK_DEVICE int copied_row(int i) const {
    return kRowsOfWarp * machine_.warp() + kRowsAtOnce * i + machine_.lane() / kValueChunks;
  }
  /// Which of a warp's 64 places is row `row` of group g of its sums. The values are in the order
  /// of places, not in transposed_key()'s.
  SPARK_DEVICE static int place_of(int g, int row) {
    return 32 * (g >> 1) + 16 * (row >> 3) + 8 * ((row >> 2) & 1) + 4 * (g & 1) + (row & 3);
  }

  Machine& machine_;
  const ChainParams& params_;
  const ChainKeys<Machine>& block_;
  KeyGradientTiles<Config>& tiles_;
  int share_, places_;
  int row_, head_;  // of the next tile
  Bits128 copied_[kCopies];
  CopiedRows<kTileRows, Config::kRowChunks, Config::kWarps> of_rows_;
  AccumulatorFragment<Accumulator::kFp32> sum_[kTransposedGroups][2] = {};
};

template <class Config, class Machine>
SPARK_DEVICE void compute_key_gradient(Machine& machine, const ChainParams& params) {
  const ChainKeys<Machine> block(machine, params);
  if (!block.is_there()) return;
  KeyGradientWarp<Config, Machine> warp(machine, params, block);
  const int tiles = block.tiles();
  if (tiles > 0) warp.load();
  for (int tile = 0; tile < tiles; ++tile) {  // line 1
    warp.store();                             // line 2
    machine.barrier();
    if (tile + 1 < tiles) warp.load();
    warp.multiply();  // line 3
    machine.barrier();
  }
  warp.write();  // line 4
}

}  // namespace sparkbench::acsr
