// What a CTA visits: the tile scheduler of a kernel, as a policy. Sequences are
//   DenseWalk         equally long: a block's index gives its rows, the mask gives their keys
//   VarlenWalk        of many lengths, end to end: an item of work_list.h has both
//   BlockSparseWalk   masked by a pattern: the lists of sparse_list.h have both
// All three have the same members. `items` and `lists` are those of a launch's blocks, be they
// blocks of rows or of keys. A Config names its policy: Config::Walk.
#pragma once

#include <type_traits>

#include "kernels/tile/block_source.h"
#include "kernels/tile/sparse_list.h"
#include "kernels/tile/work_list.h"

namespace sparkbench {

/// The rows, or keys, of a block, and their head.
struct WalkBlock {
  int batch, head, first_row;    // of a tensor; the row, in its sequence
  int sequence;                  // batch, or index of the varlen sequence
  int first_q = 0, first_k = 0;  // where this begins in its tensors
};

struct DenseWalk {
  static constexpr BlockSource kBlocks = BlockSource::kDense;

  /// Whether the block has work: a varlen grid is sized for the most blocks that there can be.
  template <class Machine>
  SPARK_DEVICE static bool has_work(Machine&, const WorkItem*) {
    return true;
  }
  /// Cheap enough to be called again where its results are used: keeping them through a loop would
  /// take registers that it lacks. Only a dense block asks for `first_row()`.
  template <class Machine, class FirstRow>
  SPARK_DEVICE static WalkBlock locate(Machine& machine, const WorkItem*, const SparseLists&,
                                       FirstRow first_row) {
    const int row = first_row(), batch = machine.block(2);
    return {batch, machine.block(1), row, batch};
  }
  /// The mask of the block's sequence, `mask` being the launch's.
  template <class Machine>
  SPARK_DEVICE static const KeyMask& mask(Machine&, const WorkItem*, const KeyMask& mask) {
    return mask;
  }
  /// The positions of a block's tiles, of kStep positions each: by_mask(), which are keys or rows,
  /// or positions in the tile list (places_of_block).
  template <int kStep, class Machine, class ByMask>
  SPARK_DEVICE static Range tiles(Machine&, const SparseLists&, ByMask by_mask) {
    return by_mask();
  }
  /// Where the block's results begin among those of splits; kNoPart if it is none. All heads are
  /// split alike. Load it together with the block's row, so that it costs no wait of its own.
  template <class Machine>
  SPARK_DEVICE static int part_row(Machine&, const SparseLists&, int) {
    return kNoPart;
  }
};

struct VarlenWalk : DenseWalk {
  static constexpr BlockSource kBlocks = BlockSource::kVarlen;

  template <class Machine>
  SPARK_DEVICE static bool has_work(Machine& machine, const WorkItem* items) {
    return load_work_place(machine, items).first_row != kNoWork;
  }
  template <class Machine, class FirstRow>
  SPARK_DEVICE static WalkBlock locate(Machine& machine, const WorkItem* items, const SparseLists&,
                                       FirstRow) {
    const WorkPlace place = load_work_place(machine, items);
    return {0, machine.block(0), place.first_row, place.sequence, place.first_q, place.first_k};
  }
  template <class Machine>
  SPARK_DEVICE static KeyMask mask(Machine& machine, const WorkItem* items, const KeyMask& mask) {
    return load_work_mask(machine, items, mask.prefix);
  }
};

/// Heads are grid axis x, and the list's blocks axis y.
struct BlockSparseWalk : DenseWalk {
  static constexpr BlockSource kBlocks = BlockSource::kBlockSparse;

  template <class Machine, class FirstRow>
  SPARK_DEVICE static WalkBlock locate(Machine& machine, const WorkItem*, const SparseLists& lists,
                                       FirstRow) {
    const int head = machine.block(0), batch = machine.block(2);
    return {batch, head, load_of_list(machine, &lists.block(head, machine.block(1))->first_row),
            batch};
  }
  template <int kStep, class Machine, class ByMask>
  SPARK_DEVICE static Range tiles(Machine& machine, const SparseLists& lists, ByMask) {
    return places_of_block<kStep>(machine, lists, machine.block(0));
  }
  template <class Machine>
  SPARK_DEVICE static int part_row(Machine& machine, const SparseLists& lists, int head) {
    return load_of_list(machine, &lists.block(head, machine.block(1))->first_part_row);
  }
};

template <class Config>
using WalkOf = typename Config::Walk;
template <class Config>
inline constexpr bool kIsVarlen = WalkOf<Config>::kBlocks == BlockSource::kVarlen;
template <class Config>
inline constexpr bool kIsSparse = WalkOf<Config>::kBlocks == BlockSource::kBlockSparse;

/// The mask of a block's sequence: loaded for varlen, else the launch's own.
template <class Config>
using SequenceMask = std::conditional_t<kIsVarlen<Config>, KeyMask, const KeyMask&>;

}  // namespace sparkbench
