// R-SpMM: O = P V over the values of each row; and dQ = scale dS K.
//
// One block computes 128 rows of one class, on tensor cores by m8n8k4:
//    1  for each tile of 64 places that some row sees:
//    2      P of the rows (0 where one has none) and V of the places to shared memory,
//           loaded a tile ahead
//    3      O += P V
//    4  O, rounded to fp16, to global memory
#pragma once

#include "kernels/baselines/acsr/block.h"
#include "kernels/baselines/acsr/volta/config.h"

namespace sparkbench::acsr {

template <class Config, class Machine>
class OutputWarp {
  static constexpr int kBlocks = Config::kWarpColumns / 32;  // of columns, each of two fragments
  static constexpr int kTileChunks = kTileKeys / kChunkPlaces;
  static constexpr int kCopiedRows = kBlockRows / Config::kWarps;
  static constexpr int kCopies = kCopiedRows * kTileChunks / 32;

 public:
  SPARK_DEVICE OutputWarp(Machine& machine, const ChainParams& params,
                          const ChainBlock<Machine>& block)
      : machine_(machine),
        params_(params),
        block_(block),
        tiles_(machine.template shared<OutputTiles<Config>>()),
        first_row_(kWarpRows * (machine.warp() % Config::kRowWarps)),
        share_(machine.warp() / Config::kRowWarps),
        places_(places_of_rows<kWarpRows>(machine, block, first_row_)) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      values_of_[i] = RowValues(block_.row(copied_row(i)));
    }
  }

  /// Line 2.
  SPARK_DEVICE void load(int tile) {
    const int chunk = tile / kChunkPlaces + machine_.lane() % kTileChunks;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      p_[i] = Bits128{};
      if (values_of_[i].has(chunk)) {
        p_[i] = machine_.template load_global<Bits128>(block_.values(values_of_[i].origin, chunk));
      }
    }
    values_.load(machine_, params_.head_chunks,
                 [&](int row) -> const Bits16* { return block_.key(params_.v, tile + row); });
  }
  SPARK_DEVICE void store() {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      machine_.store_shared(tiles_.p.at(copied_row(i), machine_.lane() % kTileChunks), p_[i]);
    }
    values_.store(machine_, [&](int row, int chunk) { return tiles_.v.at(row, chunk); });
  }
  /// Line 3.
  SPARK_DEVICE void multiply(int tile) {
    if (places_.are_none_of(tile, tile + kTileKeys)) return;
    using VTile = SwizzledTile<kTileKeys, Config::kHeadDim>;
    using PTile = SwizzledTile<kBlockRows, kTileKeys>;
    const auto v_place = output_operand_place<VTile>(machine_.lane());
    const auto p_place = PTile::lane_place(first_row_ + grid_operand_row(machine_.lane()), 0);
#pragma unroll
    for (int step = 0; step < kTileKeys / kGridColumns; ++step) {
      Bits128 low[kRowGroups], high[kRowGroups];  // keys 0..7 of the step, and the others
#pragma unroll
      for (int g = 0; g < kRowGroups; ++g) {
        low[g] =
            machine_.template load_shared<Bits128>(tiles_.p.at(p_place, kGridRows * g, 2 * step));
        high[g] = machine_.template load_shared<Bits128>(
            tiles_.p.at(p_place, kGridRows * g, 2 * step + 1));
      }
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
#pragma unroll
        for (int u = 0; u < kBlocks; ++u) {
          const auto columns = machine_.template load_shared<Bits128>(
              tiles_.v.at(v_place, kGridColumns * step + 2 * pair, 4 * (kBlocks * share_ + u)));
          machine_.template mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kB>(
              {&o_[0][2 * u], &o_[1][2 * u]},
              {{OperandFragment{{low[0].word[pair], high[0].word[pair]}},
                OperandFragment{{low[1].word[pair], high[1].word[pair]}}}},
              {{operand(columns, 0), operand(columns, 1)}});
        }
      }
    }
  }
  /// Line 4. No warp reads P any more.
  SPARK_DEVICE void write() {
    OutputTile<64>& tile = tiles_.o(machine_.warp());
    constexpr int kChunks = Config::kWarpColumns / kChunkHalves, kRowsAtOnce = 32 / kChunks;
    const int chunk = machine_.lane() % kChunks;
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      machine_.sync_warp();
      store_output<Accumulator::kFp32>(machine_, tile, {params_.output_scale, params_.output_scale},
                                       o_[g]);
      machine_.sync_warp();
#pragma unroll
      for (int first = 0; first < kGridRows; first += kRowsAtOnce) {
        const int row = first + machine_.lane() / kChunks;
        const auto bits = machine_.template load_shared<Bits128>(tile.at(row, chunk));
        Bits16* const place =
            block_.query(params_.o, block_.row(first_row_ + kGridRows * g + row).row);
        const int of_row = kChunks * share_ + chunk;
        if (place != nullptr && of_row < params_.head_chunks) {
          machine_.store_global(place + kChunkHalves * of_row, bits);
        }
      }
    }
  }

 private:
  SPARK_DEVICE int copied_row(int i) const {
    return kCopiedRows * machine_.warp() + 32 / kTileChunks * i + machine_.lane() / kTileChunks;
  }

  Machine& machine_;
  const ChainParams& params_;
  const ChainBlock<Machine>& block_;
  OutputTiles<Config>& tiles_;
  int first_row_, share_;
  RowPlaces places_;
  RowValues values_of_[kCopies];
  Bits128 p_[kCopies];
  CopiedRows<kTileKeys, Config::kRowChunks, Config::kWarps> values_;
  AccumulatorFragment<Accumulator::kFp32> o_[kRowGroups][2 * kBlocks] = {};
};

template <class Config, class Machine>
SPARK_DEVICE void compute_output(Machine& machine, const ChainParams& params) {
  const ChainBlock<Machine> block(machine, params, machine.block(0));
  if (block.row_count() == 0) return;
  OutputWarp<Config, Machine> warp(machine, params, block);
  warp.load(block.begin());
  for (int tile = block.begin(); tile < block.end(); tile += kTileKeys) {  // line 1
    warp.store();                                                          // line 2
    machine.barrier();
    warp.load(tile + kTileKeys);
    warp.multiply(tile);  // line 3
    machine.barrier();
  }
  warp.write();  // line 4
}

}  // namespace sparkbench::acsr
