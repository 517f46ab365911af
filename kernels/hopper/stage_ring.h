// The ring of stages between the warps that load a block's tiles and the warpgroups that multiply
// them. Of a stage, of its K and its V each, one barrier ends a phase when it is full, and one when
// every warp that multiplies has let go of it.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/block_plan.h"
#include "kernels/machine/tensor_copy/tensor_map.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

/// Tiles of the places that a block visits.
template <class Config>
SPARK_DEVICE int tile_count(const Range& keys) {
  if (keys.is_empty()) return 0;
  return (keys.end - first_tile<Config::kTileStart>(keys) +
          SPARK_PLANTED(kHopperLastKeyTileSkipped, Config::kBlockN - 1, 0)) /
         Config::kBlockN;
}

/// Where one of them is in a ring of places: each comes to all of them by turns, in one order. Who
/// fills a place is never more than one use ahead of who empties it.
template <int kPlaces>
class Ring {
 public:
  Ring() = default;
  /// Behind so many uses.
  explicit SPARK_DEVICE Ring(int uses) : place_(uses % kPlaces), parity_(uses / kPlaces & 1) {}

  SPARK_DEVICE int place() const { return place_; }
  SPARK_DEVICE int previous_place() const { return (place_ == 0 ? kPlaces : place_) - 1; }
  /// Of the phases that this use ends when it is full, and that the use before ended when it was
  /// empty again: before the first use as if there had been one.
  SPARK_DEVICE int full_parity() const { return parity_; }
  SPARK_DEVICE int empty_parity() const { return parity_ ^ 1; }
  SPARK_DEVICE void advance() {
    place_ = place_ + 1 == kPlaces ? 0 : place_ + 1;
    if (place_ == 0) parity_ ^= 1;
  }
  /// Back by at most as many uses as there are places.
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

/// Of tiles: all of a block's items.
template <class Config>
using StageRing = Ring<Config::kStages>;
/// Of items' rows: Q, or K and V.
template <class Config>
using RowsRing = Ring<Config::kRowsStages>;

}  // namespace sparkbench::hopper
