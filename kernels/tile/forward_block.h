// The rows and the sequence of a block of a forward kernel, and the division of its rows by l at
// the end. A Config has kBlockM, the query rows of a block, and what WalkOf (walk.h) asks for. For
// the end it has a Layout, a Scale and kHasDropout.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/forward_params.h"
#include "kernels/tile/softmax.h"
#include "kernels/tile/walk.h"

namespace sparkbench {

/// Which query rows of which head a block computes.
struct ForwardBlock : WalkBlock {
  /// Its (sequence, head) index in the dropout mask.
  SPARK_DEVICE std::uint32_t batch_head(const ForwardParams& params) const {
    return static_cast<std::uint32_t>(
        SPARK_PLANTED(kDropoutOfFirstEntry, sequence * params.heads + head, head));
  }
  /// The head of K and V that it reads.
  SPARK_DEVICE int key_head(const ForwardParams& params) const {
    return SPARK_PLANTED(kKeyHeadModulo, params.groups.key_head(head),
                         head % (params.heads / params.groups.size));
  }
};

template <class Config, class Machine>
SPARK_DEVICE ForwardBlock locate_block(Machine& machine, const ForwardParams& params) {
  return {WalkOf<Config>::locate(machine, params.items, params.sparse, [&] {
    const int tiles = (params.mask.seqlen_q + Config::kBlockM - 1) / Config::kBlockM;
    const bool is_last_tile_first =
        Config::kKeepsTileOrder ? params.is_last_tile_first : params.tile_order_word != 0u;
    return (is_last_tile_first ? tiles - 1 - machine.block(0) : machine.block(0)) * Config::kBlockM;
  })};
}

template <class Config, class Machine>
SPARK_DEVICE bool is_without_work(Machine& machine, const ForwardParams& params) {
  return !WalkOf<Config>::has_work(machine, params.items);
}

/// The mask of the block's sequence.
template <class Config, class Machine>
SPARK_DEVICE SequenceMask<Config> mask_of_block(Machine& machine, const ForwardParams& params) {
  return WalkOf<Config>::mask(machine, params.items, params.mask);
}

/// The rows of the block; some may be past the last.
template <class Config, class Machine>
SPARK_DEVICE Range rows_of_block(Machine& machine, const ForwardParams& params) {
  const int first_row = locate_block<Config>(machine, params).first_row;
  return {first_row, first_row + Config::kBlockM};
}

/// The keys that some row of the block sees. For block-sparse kernels, positions in the tile list
/// instead: tile i of all listed ones is the kBlockN positions from kBlockN i on.
template <class Config, class Machine>
SPARK_DEVICE Range keys_of_block(Machine& machine, const ForwardParams& params) {
  return WalkOf<Config>::template tiles<Config::kBlockN>(machine, params.sparse, [&] {
    return mask_of_block<Config>(machine, params)
        .keys_of_any(rows_of_block<Config>(machine, params));
  });
}

/// l = the row sums over every lane, and the factor of O: 1 / l, times 1 / (1 - p) with dropout. A
/// row that saw no key has l = 0 and gets O = 0; a NaN stays.
template <class Config, class Machine>
SPARK_DEVICE void normalization(
    Machine& machine, const ForwardParams& params,
    const FinishedRows<typename Config::Layout, typename Config::Scale>& rows,
    float (&l)[Config::Layout::kRowsPerLane], float (&factor)[Config::Layout::kRowsPerLane]) {
#pragma unroll
  for (int slot = 0; slot < Config::Layout::kRowsPerLane; ++slot) {
    l[slot] = SPARK_PLANTED(kEmptyRowHasLse, rows.row_sum(slot), fmaxf(rows.row_sum(slot), 1e-30f));
    factor[slot] = SPARK_PLANTED(kEmptyRowDivided, l[slot] == 0.0f, false)
                       ? 0.0f
                       : machine.reciprocal(l[slot] * Config::Scale::kOfHalves);
    if constexpr (Config::kHasDropout)
      factor[slot] *= SPARK_PLANTED(kKeepScaleLost, params.dropout.keep_scale, 1.0f);
  }
}

}  // namespace sparkbench
