// Where a block of the forward kernel stands, how it begins and how it ends: what its loops over
// keys share.
#pragma once

#include "kernels/tile/online_softmax.h"
#include "kernels/volta/forward_config.h"
#include "kernels/volta/forward_params.h"
#include "kernels/volta/tile/output_tile.h"

namespace sparkbench::volta {

/// Which query rows of which head a block computes, and where its keys are.
struct ForwardBlock {
  int batch, head, first_row;
  int row_stride;          // of every tensor, in halves
  std::size_t key_offset;  // of the head's key 0 in K and V

  SPARK_DEVICE std::uint32_t batch_head(const ForwardParams& params) const {
    return static_cast<std::uint32_t>(batch * params.heads + head);
  }
  /// The head's rows of K or V, those of [first_key, key_end).
  SPARK_DEVICE TensorRows keys(const Half* tensor, int first_key, int key_end) const {
    return TensorRows{tensor + key_offset, row_stride, key_end}.from(first_key);
  }
  /// The same without key_offset: one 64-bit multiplication, of an index that fits in 32 bits since
  /// so many rows of kHeadDim halves fill no memory.
  template <int kHeadDim>
  SPARK_DEVICE TensorRows keys_by_row(const ForwardParams& params, const Half* tensor,
                                      int first_key, int key_end) const {
    const int row = (batch * params.mask.seqlen_k + first_key) * params.heads + head;
    return {tensor + static_cast<std::ptrdiff_t>(row) * kHeadDim, row_stride, key_end - first_key};
  }
};

/// Cheap enough to be called anew where its results are wanted: what is kept through the key loop
/// takes registers that the loop lacks.
template <class Config, class Machine>
SPARK_DEVICE ForwardBlock locate_block(const Machine& machine, const ForwardParams& params) {
  const int tiles = (params.mask.seqlen_q + Config::kBlockM - 1) / Config::kBlockM;
  const int tile =
      launches_last_tile_first(params.mask) ? tiles - 1 - machine.block(0) : machine.block(0);
  const int batch = machine.block(2), head = machine.block(1);
  return {batch, head, tile * Config::kBlockM, params.heads * Config::kHeadDim,
          row_offset(batch, 0, head, params.mask.seqlen_k, params.heads, Config::kHeadDim)};
}

/// The block's rows of Q to shared memory. Each warp fills its own rows, as of every tile.
template <class Config, class Machine>
SPARK_DEVICE void stage_queries(Machine& machine, const ForwardParams& params,
                                const ForwardBlock& block, typename Config::QueryTile& tile) {
  const std::size_t offset = row_offset(block.batch, block.first_row, block.head,
                                        params.mask.seqlen_q, params.heads, Config::kHeadDim);
  StagedRows<typename Config::QueryTile, Config::kWarps> q;
  q.load(machine, {params.tensors.q.data + offset, block.row_stride,
                   params.mask.seqlen_q - block.first_row});
  q.store(machine, tile);
}

/// Q and the first K and V tiles to shared memory, where these have two buffers.
template <class Config, class Machine>
SPARK_DEVICE void stage_first_tiles(Machine& machine, const ForwardParams& params,
                                    ForwardTiles<Config>& tiles) {
  const ForwardBlock block = locate_block<Config>(machine, params);
  stage_queries<Config>(machine, params, block, tiles.q);
  typename Config::StagedKeys k, v;
  k.load(machine, block.keys(params.tensors.k.data, 0, params.mask.seqlen_k));
  v.load(machine, block.keys(params.tensors.v.data, 0, params.mask.seqlen_k));
  k.store(machine, tiles.k[0]);
  v.store(machine, tiles.v[0]);
  machine.barrier();
}

/// l = the row sums over every lane, and what O must be multiplied by: 1 / l, times 1 / (1 - p)
/// where values were dropped. A row that saw no key has l = 0 and gets O = 0; a NaN stays. A
/// Softmax has a lane's m and row_sum(), as OnlineSoftmax does.
template <class Config, class Machine, class Softmax>
SPARK_DEVICE void normalization(Machine& machine, const ForwardParams& params,
                                const Softmax& softmax, float (&l)[Config::Layout::kRowsPerLane],
                                float (&factor)[Config::Layout::kRowsPerLane]) {
#pragma unroll
  for (int slot = 0; slot < Config::Layout::kRowsPerLane; ++slot) {
    l[slot] = softmax.row_sum(machine, slot);
    factor[slot] = l[slot] == 0.0f ? 0.0f : machine.reciprocal(l[slot] * Config::Scale::kOfHalves);
    if constexpr (Config::kHasDropout) factor[slot] *= params.dropout.keep_scale();
  }
}

/// The last line for one 16-row group: O / l, rounded to fp16, and the log-sum-exp.
template <class Config, class Machine, class Softmax>
SPARK_DEVICE void write_output(
    Machine& machine, const ForwardParams& params, const ForwardBlock& block, int first_row,
    const Softmax& softmax, const AccumulatorFragment<Config::kOutput> (&o)[Config::kOutputGroups],
    OutputTile<Config::kHeadDim>& tile) {
  using Layout = typename Config::Layout;
  const KeyMask& mask = params.mask;
  float l[Layout::kRowsPerLane], factor[Layout::kRowsPerLane];
  normalization<Config>(machine, params, softmax, l, factor);
  float factor_of_o[GridLayout<Config::kPv>::kRowsPerLane];
  rows_of_layout<Config::kAccumulator, Config::kPv>(machine, factor, factor_of_o);
  store_output<Config::kPv>(machine, tile, factor_of_o, o);
  machine.sync_warp();
  Half* const o_rows =
      params.tensors.o.data +
      row_offset(block.batch, first_row, block.head, mask.seqlen_q, params.heads, Config::kHeadDim);
  write_rows(machine, tile, {o_rows, block.row_stride, mask.seqlen_q - first_row});

  const int lane = machine.lane();
  const int row = first_row + grid_operand_row(lane);
  const float m = Layout::of_operand_row(lane, softmax.m);
  const float lse =
      machine.fma(m, params.scale, kLn2 * machine.log2(Layout::of_operand_row(lane, l)));
  const std::size_t lse_index =
      lse_offset(block.batch, block.head, row, params.heads, mask.seqlen_q);
  if (row < mask.seqlen_q && grid_column_half(lane) == 0) {
    machine.store_global(params.tensors.lse + lse_index, lse);
  }
}

}  // namespace sparkbench::volta
