// The ring of stages between the warps that load a block's tiles and the warpgroups that multiply
// them, by named barriers: of a stage one that it is empty, and one for each warpgroup that it is
// full, so that no warpgroup waits for another.
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

/// Tiles of the places that a block visits.
template <class Config>
SPARK_DEVICE int tile_count(const Range& keys) {
  if (keys.is_empty()) return 0;
  return (keys.end - first_tile<Config::kBlockN>(keys) + Config::kBlockN - 1) / Config::kBlockN;
}

template <class Config>
SPARK_DEVICE int empty_barrier(int stage) {
  return 1 + stage;
}
template <class Config>
SPARK_DEVICE int full_barrier(int stage, int warpgroup) {
  return Config::kFirstFullBarrier + stage * Config::kWarpgroups + warpgroup;
}
/// Warps that meet there.
template <class Config>
inline constexpr int kEmptyWarps = Config::kConsumerWarps + Config::kLoaderWarps;
template <class Config>
inline constexpr int kFullWarps = kWarpgroupWarps + Config::kLoaderWarps;

/// Where one of them is: each walks all tiles, in their order.
template <class Config>
class StageRing {
 public:
  SPARK_DEVICE explicit StageRing(int tiles) : left_(tiles), tiles_(tiles) {}

  SPARK_DEVICE bool is_done() const { return left_ <= 0; }
  SPARK_DEVICE int stage() const { return stage_; }
  SPARK_DEVICE bool is_first() const { return left_ == tiles_; }
  SPARK_DEVICE int previous_stage() const { return (stage_ == 0 ? Config::kStages : stage_) - 1; }
  SPARK_DEVICE void advance() {
    stage_ = stage_ + 1 == Config::kStages ? 0 : stage_ + 1;
    --left_;
  }

  // The loader's.
  /// Whether this tile's stage had another before.
  SPARK_DEVICE bool was_full() const { return tiles_ - left_ >= Config::kStages; }
  template <class Machine>
  SPARK_DEVICE void wait_until_empty(Machine& machine) const {
    machine.wait_at_barrier(empty_barrier<Config>(stage_), kEmptyWarps<Config>);
  }

  // A warpgroup's.
  template <class Machine>
  SPARK_DEVICE void wait_until_full(Machine& machine, int warpgroup) const {
    machine.wait_at_barrier(full_barrier<Config>(stage_, warpgroup), kFullWarps<Config>);
  }
  /// Whether the loader waits for this tile's stage.
  SPARK_DEVICE bool is_awaited() const { return left_ > Config::kStages; }
  template <class Machine>
  SPARK_DEVICE void release(Machine& machine) const {
    release(machine, stage_, is_awaited());
  }
  template <class Machine>
  SPARK_DEVICE static void release(Machine& machine, int stage, bool is_awaited) {
    if (is_awaited) machine.arrive_at_barrier(empty_barrier<Config>(stage), kEmptyWarps<Config>);
  }
  /// Of the tile before this one.
  template <class Machine>
  SPARK_DEVICE void release_previous(Machine& machine) const {
    release(machine, previous_stage(), left_ + 1 > Config::kStages);
  }

 private:
  int left_, tiles_;
  int stage_ = 0;
};

}  // namespace sparkbench::hopper
