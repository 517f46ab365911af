// Where a warp's 16 rows of O and their log-sum-exp go: to the tensors, or where its block has a
// part of its tiles (tile/sparse_list.h), to the workspace.
#pragma once

#include "kernels/hopper/forward_config.h"
#include "kernels/tile/forward_block.h"

namespace sparkbench::hopper {

template <class Config, class Machine>
class OutputRows {
 public:
  /// Of the rows from first_row on.
  SPARK_DEVICE OutputRows(Machine& machine, const ForwardParams& params, const ForwardBlock& block,
                          int first_row)
      : machine_(machine), params_(params), block_(block), first_row_(first_row) {
    if constexpr (Config::kIsSparse) {
      const int part = first_part_row<Config>(machine, params.sparse, block.head);
      if (part != kNoPart) part_row_ = part + first_row - block.first_row;
      if (has_order<Config>(params.sparse.order)) {
        ordered_ = ordered_rows(machine, params.sparse.order, first_row);
      }
    }
  }

  /// O from a tile of shared memory, whose rows of this warp begin at of_warp.
  template <class Tile>
  SPARK_DEVICE void copy(const Tile& tile, int of_warp) const {
#pragma unroll
    for (int i = 0; i < kWarpRows * Tile::kChunksPerRow / 32; ++i) {
      const int place = 32 * i + machine_.lane();
      const int row = place / Tile::kChunksPerRow, chunk = place % Tile::kChunksPerRow;
      if (chunk >= params_.head_chunks || !is_owned(row)) continue;
      machine_.store_global(o_of(row) + kChunkHalves * chunk,
                            machine_.template load_shared<Bits128>(tile.at(of_warp + row, chunk)));
    }
  }
  SPARK_DEVICE void store_lse(int row, float lse) const {
    if (is_owned(row)) machine_.store_global(lse_of(row), lse);
  }

 private:
  SPARK_DEVICE bool is_owned(int row) const {
    if (has_order<Config>(params_.sparse.order)) return ordered_.owns(row);
    return first_row_ + row < params_.mask.seqlen_q;
  }
  SPARK_DEVICE int token(int row) const {
    if (has_order<Config>(params_.sparse.order)) {
      return ordered_.token + params_.sparse.order.template tokens_to<4>(row);
    }
    return first_row_ + row;
  }
  SPARK_DEVICE Half* o_of(int row) const {
    if (Config::kIsSparse && part_row_ != kNoPart) {
      return params_.part_o.at(block_.batch, part_row_ + row, block_.head);
    }
    return params_.o.at(block_.batch, token(row), block_.head);
  }
  SPARK_DEVICE float* lse_of(int row) const {
    if (Config::kIsSparse && part_row_ != kNoPart) {
      return params_.part_lse + lse_offset(block_.batch, block_.head, part_row_ + row,
                                           params_.heads, params_.part_rows);
    }
    return params_.lse +
           lse_offset(block_.batch, block_.head, token(row), params_.heads, params_.mask.seqlen_q);
  }

  Machine& machine_;
  const ForwardParams& params_;
  const ForwardBlock& block_;
  const int first_row_;
  int part_row_ = kNoPart;
  OrderedRows ordered_{};
};

}  // namespace sparkbench::hopper
