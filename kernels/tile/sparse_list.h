// Block-sparse metadata in device memory: the tiles of scores that each block of a launch visits
// where the mask is a pattern (mask/pattern/). kernels/block_sparse/sparse_lists.h makes it once
// for a pattern and its lengths. A tile is full or partial; a partial tile has mask bits, one a
// pair.
#pragma once

#include <cstdint>

#include "kernels/base/planted_fault.h"
#include "kernels/machine/machine.h"
#include "kernels/mask/key_mask.h"
#include "kernels/problem/head_groups.h"

namespace sparkbench {

/// A tile that a block visits: the keys for a block of rows, the rows for a block of keys.
struct alignas(16) SparseTile {
  /// Its first key, or row, plus kCutTile if the tile is partial. After a block's last tile, a
  /// value not below the sequence's length.
  int first;
  /// For blocks of rows and tiles of 64 keys: two bits for each warp of 32 rows, warp 0's the
  /// lowest, whether it sees any of the first 32 keys, and any of the others.
  std::uint32_t seen;
  int words;  // of a partial tile: offset of its mask bits
  int unused;
};
/// The flag in SparseTile::first.
inline constexpr int kCutTile = 1 << 29;
SPARK_HD int first_of_tile(int first) { return first & (kCutTile - 1); }
SPARK_HD bool is_cut_tile(int first) { return (first & kCutTile) != 0; }
/// A warp's two bits of SparseTile::seen.
inline constexpr int kBothHalves = 3;

/// A block's rows, or keys, and its tiles. If a block has many more tiles than the others, several
/// blocks split them (split-KV) and store partial results for merge_parts.h to combine.
struct alignas(16) SparseBlock {
  int first_row;          // or key
  int first_tile, tiles;  // of all tiles
  int first_part_row;     // of a split: where its results begin among those of splits, else kNoPart
};
inline constexpr int kNoPart = -1;

/// Rows, or keys, that are split: results of split i begin at first_part_row + i * rows of a block.
struct alignas(16) SparseSplit {
  int first_row;
  int first_part_row;
  int parts;
  int unused;
};

/// Mask bits in a word: 32 keys of a row, the first of them bit 0.
inline constexpr int kSparseWordKeys = 32;

/// Head h has pattern h % unions. Every pattern has the same number of blocks, those with most
/// tiles first. A partial tile's mask bits are [rows][keys / 32].
struct SparseLists {
  const SparseBlock* blocks;  // [patterns, blocks_of_head]
  const SparseTile* tiles;
  const std::uint32_t* words;
  int blocks_of_head;
  HeadGroups unions;

  SPARK_HD int union_of(int head) const {
    return SPARK_PLANTED(kPatternOfFirstHead, head - unions.size * unions.key_head(head), 0);
  }
  /// Block `index` of those of a head.
  SPARK_HD const SparseBlock* block(int head, int index) const {
    return blocks + (union_of(head) * blocks_of_head + index);
  }
};

/// One number of a block or tile: loaded singly because registers are short.
template <class Machine>
SPARK_DEVICE int load_of_list(Machine& machine, const int* number) {
  return machine.template load_global<int>(number);
}

/// The tiles of this launch's block, heads being grid axis x and the list's blocks axis y. A loop
/// over tiles counts positions: tile i of all listed ones is the kStep positions from kStep i on,
/// so that one number says where a block is.
template <int kStep, class Machine>
SPARK_DEVICE Range places_of_block(Machine& machine, const SparseLists& lists, int head) {
  const SparseBlock* const block = lists.block(head, machine.block(1));
  const int first_tile = load_of_list(machine, &block->first_tile);
  return {kStep * first_tile, kStep * (first_tile + load_of_list(machine, &block->tiles))};
}

template <int kStep>
SPARK_DEVICE const SparseTile* tile_of_place(const SparseLists& lists, int place) {
  return lists.tiles + place / kStep;
}

/// Calls hide(step, element) as hide_scores() of mask.h does, for a partial tile. `words` are the
/// mask bits of the fragment's first row and first key, rows kRowWords words apart. The fragment's
/// keys begin a word, or begin at its `first_bit` if they are fewer than a word has.
template <class Layout, int kSteps, int kRowWords, class Machine, class Hide>
SPARK_DEVICE void hide_unseen(Machine& machine, const std::uint32_t* words, Hide hide,
                              int first_bit = 0) {
  constexpr int kKeys = kSteps * Layout::kStepKeys;
  constexpr int kWords = (kKeys + kSparseWordKeys - 1) / kSparseWordKeys;
  const int lane = machine.lane();
#pragma unroll
  for (int strand = 0; strand < Layout::kStrands; ++strand) {
    const std::uint32_t* const row = words + kRowWords * Layout::row(lane, Layout::slot(strand));
    const int first = 2 * Layout::pair(lane, strand) + first_bit;
    std::uint32_t seen[kWords];
    if constexpr (kWords == 2) {
      const auto both = machine.template load_global<Bits64>(row);
      // No pair of a lane's keys is in two words.
      seen[0] = both.word[0] >> first;
      seen[1] = both.word[SPARK_PLANTED(kWordOfOtherHalf, 1, 0)] >> first;
    } else {
      seen[0] = machine.template load_global<std::uint32_t>(row) >> first;
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int n = 0; n < Layout::kStrandElements; ++n) {
        const int bit = Layout::kStepKeys * step + Layout::key(n);
        if (SPARK_PLANTED(kPartialBlockAsFull, (seen[bit / 32] & (1u << bit % 32)) == 0, false))
          hide(step, Layout::element(strand, n));
      }
    }
  }
}

}  // namespace sparkbench
