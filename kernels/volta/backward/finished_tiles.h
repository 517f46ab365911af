// dQ that is complete behind a block of a pattern's keys in relay: of those of its tiles behind
// which no other block sees their queries (SparseTile::seen).
#pragma once

#include "kernels/volta/backward/relay.h"
#include "kernels/volta/backward/tiles_of_warp.h"

namespace sparkbench::volta {

/// A warp's share of them. Made where all of the block's warps have added what they add, and met.
template <class Config, class Machine>
class FinishedTiles {
  using Tiles = TilesOfWarp<Config, Machine>;

 public:
  SPARK_DEVICE FinishedTiles(Machine& machine, const BackwardParams& params)
      : machine_(machine), params_(params), tiles_(machine, params), look_(tiles_.look(0, 0)) {}

  /// The sums of the first, if it is of the first head and look.
  SPARK_DEVICE void load(RelayedDq<Config>& dq) {
    const std::uint32_t finished = finished_of_look();
    const int tile = first_of(finished);
    load_sums(0, tile, tiles_.row(look_, tile), finished != 0, dq);
  }
  /// All of them to dQ, of all heads that read the keys; `dq` has what load() has loaded.
  template <class Output>
  SPARK_DEVICE void write(Output& output, RelayedDq<Config>& dq) {
    float factor[GridLayout<Config::kAccumulator>::kRowsPerLane];
    set_dq_factor<Config>(params_, factor);
#pragma unroll 1
    for (int member = 0;;) {
#pragma unroll 1
      for (std::uint32_t left = finished_of_look(); left != 0; left &= left - 1) {
        const int tile = first_of(left), row = tiles_.row(look_, tile);
        const bool is_loaded = member == 0 && look_.first == 0 && left == finished_of_look();
        if (!is_loaded) load_sums(member, tile, row, true, dq);
        write_rows_from(output, tiles_.head(member), row, factor, dq);
      }
      int first = look_.first + Tiles::kTilesOfLook;
      if (first >= look_.tiles) {
        first = 0;
        if (++member == params_.groups.size) return;
      }
      look_ = tiles_.look(member, first);
    }
  }

 private:
  SPARK_DEVICE std::uint32_t finished_of_look() const { return machine_.ballot(look_.is_last()); }
  SPARK_DEVICE int first_of(std::uint32_t lanes) const {
    return lanes == 0 ? 0 : machine_.lowest_bit(lanes);
  }
  SPARK_DEVICE void load_sums(int member, int tile, int row, bool is_wanted,
                              RelayedDq<Config>& dq) {
    const auto step =
        ListedRelayStep::of_tile<Config>(machine_, params_, member, tiles_.seen(look_, tile), row);
    load_finished_sums<Config>(machine_, params_, step, row, is_wanted, dq);
  }
  template <class Output>
  SPARK_DEVICE void write_rows_from(
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
  Tiles tiles_;
  typename Tiles::Look look_;
};

}  // namespace sparkbench::volta
