// Which blocks of a work list (work_lists.h) are emulated where only a sample is, and how
// much each block of the list walks.
#pragma once

#include <span>

#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/varlen/work_lists.h"

namespace sparkbench {

/// A list that has been emulated, whose blocks walk `step` columns at a time. All blocks of grid
/// axis 0 have the same item.
struct SampledList {
  const WorkListParams& list;
  int step;
  int blocks_of_head = 1;  // along axis 0

  /// Makes `shape` launch only the blocks of these tiles of rows, or of keys, each of its sequence
  /// and of its head, and one without work, if there is any. All where there are
  /// no tiles.
  void restrict_to(std::span<const SampleTile> tiles, LaunchShape& shape) const;

  /// The same with all of axis 0.
  void restrict_to_sequences(std::span<const SampleTile> tiles, LaunchShape& shape) const;
};

}  // namespace sparkbench
