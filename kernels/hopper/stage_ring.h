// The ring of stages between the producer warps and the consumer warpgroups. K and V of a stage
// have two barriers each: one ends a phase when the stage is full, one when every consumer warp has
// released it.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/block_plan.h"
#include "kernels/machine/tensor_copy/tensor_map.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

/// Tiles that a block visits.
template <class Config>
SPARK_DEVICE int tile_count(const Range& keys) {
  if (keys.is_empty()) return 0;
  return (keys.end - first_tile<Config::kTileStart>(keys) +
          SPARK_PLANTED(kHopperLastKeyTileSkipped, Config::kBlockN - 1, 0)) /
         Config::kBlockN;
}

/// A position in a ring of kPlaces stages, all of which are used in turn. The producer is never
/// more than one use of a stage ahead of the consumers.
template <int kPlaces>
class Ring {
 public:
  Ring() = default;
  /// The position after `uses` uses.
  explicit SPARK_DEVICE Ring(int uses) : place_(uses % kPlaces), parity_(uses / kPlaces & 1) {}

  SPARK_DEVICE int place() const { return place_; }
  SPARK_DEVICE int previous_place() const { return (place_ == 0 ? kPlaces : place_) - 1; }
  /// Parities of the phases that this use ends when the stage is full, and that the use before it
  /// ended when it was empty again; before the first use, as if there had been one.
  SPARK_DEVICE int full_parity() const { return parity_; }
  SPARK_DEVICE int empty_parity() const { return parity_ ^ 1; }
  SPARK_DEVICE void advance() {
    place_ = place_ + 1 == kPlaces ? 0 : place_ + 1;
    if (place_ == 0) parity_ ^= 1;
  }
  /// Goes back by at most kPlaces uses.
  SPARK_DEVICE void retreat(int uses) {
    place_ -= uses;
    if (place_ < 0) {
      place_ += kPlaces;
      parity_ ^= 1;
    }
  }

 private:
  int place_ = 0, parity_ = 0;
};

/// Ring of tiles, over all of a block's items.
template <class Config>
using StageRing = Ring<Config::kStages>;
/// Ring of items' rows: Q, or K and V.
template <class Config>
using RowsRing = Ring<Config::kRowsStages>;

}  // namespace sparkbench::hopper
