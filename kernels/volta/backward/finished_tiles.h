// dQ that is complete behind a block of a pattern's keys in relay: of those of its tiles behind
// which no other block sees their queries (SparseTile::seen).
#pragma once

#include "kernels/volta/backward/relay.h"

namespace sparkbench::volta {

/// A warp's share: of every kTilesAtOnce-th tile 16 queries.
template <class Config, class Machine>
class FinishedTiles {
 public:
  SPARK_DEVICE FinishedTiles(Machine& machine, const BackwardParams& params)
      : machine_(machine), params_(params) {}

  /// Of the first head the sums of the warp's first tile.
  SPARK_DEVICE void load(RelayedDq<Config>& dq) {
    const Tile tile = tile_at(0, first());
    load_sums(0, tile, tile.is_finished(), dq);
  }
  /// All of them to dQ, of all heads that read the keys; `dq` has the first.
  template <class Output>
  SPARK_DEVICE void write(Output& output, RelayedDq<Config>& dq) {
    float factor[GridLayout<Config::kAccumulator>::kRowsPerLane];
    set_dq_factor<Config>(params_, factor);
#pragma unroll 1
    for (int member = 0; member < params_.groups.size; ++member) {
      const int tiles = load_of_list(machine_, &block(member)->tiles);
#pragma unroll 1
      for (int i = first(); i < tiles; i += kTilesAtOnce) {
        const Tile tile = tile_at(member, i);
        if (!tile.is_finished()) continue;
        if (member != 0 || i != first()) load_sums(member, tile, true, dq);
        write_tile(output, head(member), tile.row, factor, dq);
      }
    }
  }

 private:
  static constexpr int kTilesAtOnce = Config::kWarps / kRowGroups;
  static_assert(kTilesAtOnce * kRowGroups == Config::kWarps, "a warp has half of a tile");

  struct Tile {
    const SparseTile* listed;
    std::uint32_t seen;
    int row;  // the warp's first

    SPARK_DEVICE bool is_finished() const { return is_last_turn(seen); }
  };

  SPARK_DEVICE int first() const { return machine_.warp() / kRowGroups; }
  SPARK_DEVICE int head(int member) const {
    return machine_.block(0) * params_.groups.size + member;
  }
  SPARK_DEVICE const SparseBlock* block(int member) const {
    return params_.sparse_keys.block(head(member), machine_.block(1));
  }
  /// Tile i of the block's, or behind them what is finished by none.
  SPARK_DEVICE Tile tile_at(int member, int i) {
    const int tiles = load_of_list(machine_, &block(member)->tiles);
    const int first_tile = load_of_list(machine_, &block(member)->first_tile);
    const SparseTile* const listed = params_.sparse_keys.tiles + (first_tile + least_of(i, tiles));
    const int step = first_of_step(load_of_list(machine_, &listed->step));
    return {listed, machine_.template load_global<std::uint32_t>(&listed->seen),
            step + kGridRows * (machine_.warp() % kRowGroups)};
  }
  SPARK_DEVICE void load_sums(int member, const Tile& tile, bool is_wanted, RelayedDq<Config>& dq) {
    const auto step = ListedRelayStep::of_tile<Config>(machine_, params_, member, tile.listed,
                                                       tile.row / Config::kStep * Config::kStep);
    load_finished_sums<Config>(machine_, params_, step, tile.row, is_wanted, dq);
  }
  template <class Output>
  SPARK_DEVICE void write_tile(
      Output& output, int head, int row,
      const float (&factor)[GridLayout<Config::kAccumulator>::kRowsPerLane],
      const RelayedDq<Config>& dq) {
    const int batch = machine_.block(2), stride = params_.dq.row_stride();
    const RowOrder& order = params_.query_order;
    if (order.tiles != nullptr) {
      const OrderedRows rows = ordered_rows(machine_, order, row);
      write_finished_rows<Config>(
          machine_, params_, factor, output, dq, [&](int column, int chunks) {
            return OrderedOutputRows{order, rows, params_.dq.at(batch, 0, head) + column, stride,
                                     chunks};
          });
    } else {
      write_finished_rows<Config>(machine_, params_, factor, output, dq,
                                  [&](int column, int chunks) {
                                    return OutputRows{params_.dq.at(batch, row, head) + column,
                                                      stride, params_.mask.seqlen_q - row, chunks};
                                  });
    }
  }

  Machine& machine_;
  const BackwardParams& params_;
};

}  // namespace sparkbench::volta
