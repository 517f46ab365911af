// Key runs: consecutive tiles of 64 keys of a head for one block, in the fused kernel, which
// carries dQ from tile to tile. The queries of a run's first tile saw earlier keys, which are in
// another run. This run recomputes these tiles for those queries, and stores nothing of their dK
// and dV.
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/work_items.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

/// Steps of 64 queries that see a tile of keys, and tiles that a step sees.
SPARK_DEVICE Range steps_of_tile(const KeyMask& mask, int tile) {
  const int first = kWarpgroupRows * tile;
  const Range rows = mask.rows_of_any({first, least_of(first + kWarpgroupRows, mask.seqlen_k)});
  return {rows.begin / kWarpgroupRows, (rows.end + kWarpgroupRows - 1) / kWarpgroupRows};
}
SPARK_DEVICE Range tiles_of_step(const KeyMask& mask, int step) {
  const int first = kWarpgroupRows * step;
  const Range keys = mask.keys_of_any({first, least_of(first + kWarpgroupRows, mask.seqlen_q)});
  return {keys.begin / kWarpgroupRows, (keys.end + kWarpgroupRows - 1) / kWarpgroupRows};
}

/// A tile's visit of a step that sees it.
struct StepVisit {
  int index;      // among the tiles that the step sees
  bool is_last;   // the last of them in the run
  bool is_whole;  // the last of all: dQ is complete
};

/// Tiles and steps that a block had in earlier runs: its rings go on from run to run.
struct RunCounts {
  int tiles = 0, steps = 0;
};

/// Tiles [own, end) of a head, plus tiles from `first` on for the steps from first_step on.
class KeyRun {
 public:
  /// Run `run` of the `runs` runs of a head.
  SPARK_DEVICE KeyRun(const KeyMask& mask, int run, int runs, const RunCounts& before)
      : mask_(mask), before_(before) {
    const int tiles = (mask.seqlen_k + kWarpgroupRows - 1) / kWarpgroupRows;
    const Range own = part_of_tiles(tiles, runs, run);
    own_ = own.begin;
    end_ = own.end;
    first_step_ = steps_of_tile(mask, own_).begin;
    first_ = tiles_of_step(mask, first_step_).begin;
  }

  SPARK_DEVICE int first() const { return first_; }
  SPARK_DEVICE int own() const { return own_; }
  SPARK_DEVICE int end() const { return end_; }
  SPARK_DEVICE int first_step() const { return first_step_; }
  SPARK_DEVICE int end_step() const { return steps_of_tile(mask_, end_ - 1).end; }
  /// Steps that a tile has.
  SPARK_DEVICE Range steps(int tile) const {
    const Range steps = steps_of_tile(mask_, tile);
    return {most_of(steps.begin, first_step_), steps.end};
  }
  SPARK_DEVICE StepVisit visit(int tile, int step) const {
    const Range tiles = tiles_of_step(mask_, step);
    const int last = tiles.end - 1;
    return {tile - tiles.begin, tile == least_of(last, end_ - 1), tile == last};
  }
  /// Tiles of the run that see a step.
  SPARK_DEVICE int visits(int step) const {
    const Range tiles = tiles_of_step(mask_, step);
    return least_of(tiles.end, end_) - tiles.begin;
  }
  /// How many the block has had before a tile, before a step, and including this run.
  SPARK_DEVICE int tiles_before(int tile) const { return before_.tiles + tile - first_; }
  SPARK_DEVICE int steps_before(int step) const { return before_.steps + step - first_step_; }
  SPARK_DEVICE RunCounts counts() const { return {tiles_before(end_), steps_before(end_step())}; }

 private:
  const KeyMask& mask_;
  const RunCounts before_;
  int own_, end_, first_, first_step_;
};

}  // namespace sparkbench::hopper
