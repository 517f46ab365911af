// The warps that load K and V of a block, a ring of stages ahead of the warpgroups that multiply
// them. Copies are cp.async, since rows may lie at any stride, and in any order of a pattern.
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/fill_stages.h"
#include "kernels/hopper/walked_tile.h"

namespace sparkbench::hopper {

template <class Config, class Machine>
class KeyLoader {
 public:
  SPARK_DEVICE KeyLoader(Machine& machine, const ForwardParams& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        block_(locate_block<Config>(machine, params)),
        keys_(keys_of_block<Config>(machine, params)),
        lane_(machine.thread() - 32 * Config::kConsumerWarps) {}

  /// All of the block's tiles.
  SPARK_DEVICE void run() {
    machine_.barrier_of_warps();  // with Q
    int place = first_tile<Config::kBlockN>(keys_);
    fill_stages(machine_, StageRing<Config>(tile_count<Config>(keys_)), [&](int stage) {
      load(place, tiles_.stage[stage]);
      place += Config::kBlockN;
    });
  }

 private:
  SPARK_DEVICE void load(int place, typename Config::Tiles::Stage& stage) {
    const int key = first_key<Config>(machine_, params_, place);
    const int rows = params_.mask.seqlen_k - key, head = block_.key_head(params_);
    const auto load_tile = [&](const ChunkedView<const Half>& tensor, auto& tile) {
      copy_rows<32 * Config::kLoaderWarps>(machine_, tile, tensor.at(block_.batch, key, head),
                                           rows_apart<Config>(params_.sparse, tensor), rows,
                                           params_.head_chunks, lane_);
    };
    load_tile(params_.k, stage.k);
    load_tile(params_.v, stage.v);
    machine_.commit_copies();
  }

  Machine& machine_;
  const ForwardParams& params_;
  typename Config::Tiles& tiles_;
  const ForwardBlock block_;
  const Range keys_;
  const int lane_;
};

}  // namespace sparkbench::hopper
