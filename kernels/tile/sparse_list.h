// The tiles of scores that each block of a launch visits where the mask is a pattern
// (mask/pattern/): lists that kernels/block_sparse/sparse_lists.h makes once for a pattern and its
// lengths, in device memory. A tile is full, or cut: then words of bits say which pairs are
// visible.
#pragma once

#include <cstdint>

#include "kernels/base/planted_fault.h"
#include "kernels/machine/machine.h"
#include "kernels/mask/key_mask.h"
#include "kernels/problem/head_groups.h"

namespace sparkbench {

/// A tile that a block visits: of a block of rows its keys, of a block of keys its rows.
struct alignas(16) SparseTile {
  /// Its first key, or row, and kCutTile more where it is cut; behind a block's last tile what is
  /// not below the sequence's length.
  int first;
  /// Of blocks of rows and tiles of 64 keys, two bits for each warp of 32 rows, warp 0's the
  /// lowest: whether it sees some of the first 32 keys, and of the others.
  std::uint32_t seen;
  int words;  // of a cut tile: where its first pairs are among all words
  int unused;
};
/// Of SparseTile::first.
inline constexpr int kCutTile = 1 << 29;
SPARK_HD int first_of_tile(int first) { return first & (kCutTile - 1); }
SPARK_HD bool is_cut_tile(int first) { return (first & kCutTile) != 0; }
/// Of SparseTile::seen, a warp's.
inline constexpr int kBothHalves = 3;

/// A block's rows, or keys, and its tiles. Where they would be many more than others', several
/// blocks have a *part* of them each, and store what they have of the rows where merge_parts.h
/// finds it.
struct alignas(16) SparseBlock {
  int first_row;          // or key
  int first_tile, tiles;  // of all tiles
  int first_part_row;     // where a part's results begin among those of parts, else kNoPart
};
inline constexpr int kNoPart = -1;

/// Rows, or keys, that parts share: results of part i begin at first_part_row + i * rows of a
/// block.
struct alignas(16) SparseSplit {
  int first_row;
  int first_part_row;
  int parts;
  int unused;
};

/// Pairs of a word: 32 keys of a row, the first of them bit 0.
inline constexpr int kSparseWordKeys = 32;

/// Heads take the pattern's unions by turns, each of which has as many blocks, those with most
/// tiles first. The words of a cut tile are [rows][keys / 32].
struct SparseLists {
  const SparseBlock* blocks;  // [unions, blocks_of_head]
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

/// A number of a block or of a tile: one at a time, for registers are short.
template <class Machine>
SPARK_DEVICE int load_of_list(Machine& machine, const int* number) {
  return machine.template load_global<int>(number);
}

/// Where the results of a launch's block, as below, begin among those of parts: kNoPart if it is
/// none. Parts are the same of all heads. To be asked with the block's place, so that nothing waits
/// for it alone.
template <class Config, class Machine>
SPARK_DEVICE int first_part_row(Machine& machine, const SparseLists& lists, int head) {
  if constexpr (Config::kIsSparse) {
    return load_of_list(machine, &lists.block(head, machine.block(1))->first_part_row);
  } else {
    return kNoPart;
  }
}

/// Where a launch with heads on grid axis x and a list's blocks on axis y has a block of a head. A
/// loop over its tiles counts *places*: tile i of all that are listed has kStep places from kStep i
/// on, so that one number says where a block is.
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

/// Calls hide(step, element) as hide_scores() of mask.h does, for a cut tile. `words` are those of
/// the fragment's first row and of its first key's word, rows kRowWords apart. The fragment's keys
/// begin a word, or if they are fewer than a word has, at its `first_bit`.
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
