// dQ = scale * dS K in the dK/dV kernel: for each step of queries, the product with a block's keys
// is added to FP32 sums in device memory, which all blocks share.
//
// The warpgroups of a block store dS of their keys in shared memory. A step later, when all have,
// dS K over all of the block's keys is one product, which one warpgroup does in turn, or each does
// for 64 columns or rows. The sums are in the order of the lanes, so that a lane adds 16 bytes and
// a warp 512 adjacent ones. round_dq.h rounds them to dQ.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/backward/config.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/query_warpgroup.h"

namespace sparkbench::hopper {

/// The block's position in its ring of dS, over all of its items.
template <class Config>
struct DqTurns {
  Ring<Config::kScoreGradientStages> ring;
  int turn = 0;  // the warpgroup that multiplies this step

  SPARK_DEVICE void advance() {
    ring.advance();
    turn = turn + 1 == Config::kDqTurns ? 0 : turn + 1;
  }
};

/// A warpgroup's part, of an item of the block.
template <class Config, class Machine>
class DqSums {
 public:
  using Fragment = typename Config::Layout::Fragment;

  /// `keys` is the ring stage of the item's keys.
  SPARK_DEVICE DqSums(Machine& machine, const BackwardParams& params, int keys,
                      DqTurns<Config>& turns)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<typename Config::Tiles>()),
        turns_(turns),
        warpgroup_(machine.uniform(machine.warp()) / kWarpgroupWarps),
        first_column_(Config::kSharesDqColumns ? kPanelColumns * warpgroup_ : 0),
        first_row_(Config::kSharesDqRows ? kWarpgroupRows * warpgroup_ : 0),
        keys_(describe_columns(machine, tiles_.k[keys][0]) +
              descriptor_step(first_column_ / kPanelColumns * Config::KeyTile::kPanelBytes)),
        gradients_(
            describe_columns(machine, tiles_.score_gradients[0]) +
            descriptor_step(first_row_ / kPanelColumns * Config::ScoreGradientTile::kPanelBytes)) {}

  /// dS of the step, once no product reads the buffer: operand A, keys by queries.
  template <class Halves>
  SPARK_DEVICE void store(const Halves& ds) {
    const int place = turns_.ring.place(), lane = machine_.lane();
    auto& gradients = tiles_.score_gradients[place];
    machine_.wait_at_mbarrier(&tiles_.barriers.gradients_empty[place], turns_.ring.empty_parity());
#pragma unroll
    for (int step = 0; step < Config::kQuerySteps; ++step) {
#pragma unroll
      for (int slot = 0; slot < 2; ++slot) {
        const int row = kWarpRows * machine_.warp() + m16n8k16::c_row(lane, 2 * slot);
        machine_.store_shared(
            &gradients.at(row, step)
                 ->word[SPARK_PLANTED(kDsOfOtherQueries, lane & 3, 3 - (lane & 3))],
            ds.of[step / 2].pair[2 * (step % 2) + slot]);
      }
    }
    SPARK_UNLESS_PLANTED(kFenceMissing, machine_.fence_async_proxy());
    machine_.arrive_at_mbarrier(&tiles_.barriers.gradients_full[place]);
  }

  /// Whether the warpgroup multiplies the step before.
  SPARK_DEVICE bool has_turn() const {
    return sums_ != nullptr && (Config::kDqTurns == 1 || before_.turn == warpgroup_);
  }
  /// Starts the product of that step.
  SPARK_DEVICE void start() {
    const int place = before_.ring.place();
    machine_.wait_at_mbarrier(&tiles_.barriers.gradients_full[place], before_.ring.full_parity());
    machine_.fence_products();
    constexpr int kTileSteps = kWarpgroupRows / Config::kProductDepth;
    const std::uint64_t gradients =
        gradients_ +
        static_cast<std::uint32_t>(place) *
            static_cast<std::uint32_t>(descriptor_step(sizeof(typename Config::ScoreGradientTile)));
#pragma unroll
    for (int tile = 0; tile < Config::kKeyTiles; ++tile) {
#pragma unroll
      for (int step = 0; step < kTileSteps; ++step) {
        machine_.template multiply_async<typename Config::Element, Config::kDqColumns, kRowsAreK,
                                         kRowsAreKOfA>(
            dq_, gradients + rows_step(kTileSteps * tile + step),
            keys_ + descriptor_step(tile * static_cast<int>(sizeof(typename Config::KeyTile))) +
                rows_step(step),
            tile + step > 0);
      }
    }
  }
  /// Adds the product to the sums.
  SPARK_DEVICE void finish() {
    machine_.arrive_at_mbarrier(&tiles_.barriers.gradients_empty[before_.ring.place()]);
    float* const sums = sums_ + (first_row_ * Config::kHeadDim + kWarpgroupRows * first_column_ +
                                 4 * (machine_.thread() % (32 * kWarpgroupWarps)));
#pragma unroll
    for (int step = 0; step < SPARK_PLANTED(kDqLastColumnsNotAdded, Config::kDqColumns / 8,
                                            Config::kDqColumns / 8 - 1);
         ++step) {
      machine_.add_global(sums + step * 8 * kWarpgroupRows, dq_[step].element);
    }
  }
  /// Goes on to the next step, after a tile of queries.
  SPARK_DEVICE void advance(std::size_t query_tile) {
    before_ = turns_;
    sums_ = params_.dq_sums + query_tile * (kWarpgroupRows * Config::kHeadDim);
    turns_.advance();
  }
  /// After the last step: adds its product in turn, and waits until no warpgroup reads the keys any
  /// more. One that multiplied the step before the last may be slower than the one that did the
  /// last.
  SPARK_DEVICE void add_last() {
    if (has_turn()) {
      start();
      machine_.commit_products();
      machine_.template wait_for_products<0>();
      finish();
    }
    if (sums_ == nullptr) return;
    machine_.wait_at_mbarrier(&tiles_.barriers.gradients_empty[turns_.ring.place()],
                              turns_.ring.empty_parity());
    machine_.wait_at_mbarrier(&tiles_.barriers.gradients_empty[before_.ring.place()],
                              before_.ring.full_parity());
  }

 private:
  Machine& machine_;
  const BackwardParams& params_;
  typename Config::Tiles& tiles_;
  DqTurns<Config>& turns_;
  DqTurns<Config> before_;
  float* sums_ = nullptr;                           // those of the step before, if there is one
  const int warpgroup_, first_column_, first_row_;  // of the product that it does
  const std::uint64_t keys_, gradients_;            // descriptors
  Fragment dq_[Config::kDqColumns / 8];
};

}  // namespace sparkbench::hopper
