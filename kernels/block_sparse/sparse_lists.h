// The lists of tiles that kernels walk where the mask is a pattern (tile/sparse_list.h), made on
// the host: once for a pattern and its lengths, whatever the tensors are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/mask/pattern/plan_facts.h"
#include "kernels/mask/pattern/zone.h"
#include "kernels/tile/sparse_list.h"

namespace sparkbench {

struct Pattern;     // kernels/mask/pattern/pattern.h
struct SparseMask;  // kernels/mask/pattern/sparse_mask.h

/// Blocks of rows that walk keys, or of keys that walk rows.
struct SparseListKind {
  bool is_of_keys;
  int block_rows;                      // or keys: of a block
  int step;                            // keys, or rows, of a tile
  Range only = {0, kLongestSequence};  // tiles that begin there; others are left out
  bool splits = true;                  // blocks with many more tiles than others (work_items.h)
};

/// Of each head of a mask, as SparseTileLists::part_rows() has it. It is kept in the mask, whose
/// plan it wants: of an expression the host looks at all pairs for that, unless the mask has
/// `sights`.
RowsOfParts rows_of_parts(const SparseMask& mask, const SparseListKind& kind);

/// Blocks that walk most, over all heads, come first. Words are of 32 keys: a tile has a multiple
/// of 32. A word of a cut tile that another has, too, is there once. The mask's `sights` tell of
/// its tiles if it has any.
class SparseTileLists {
 public:
  SparseTileLists(const SparseMask& mask, const SparseListKind& kind);

  /// Of the memory here.
  SparseLists on_host() const { return at(blocks_.data(), tiles_.data(), words_.data()); }

  /// Room for all of it elsewhere, aligned to 16 bytes; and its bytes, in that order.
  std::size_t bytes() const { return words_begin() + sizeof(std::uint32_t) * words_.size(); }
  void write(std::byte* to) const;
  SparseLists at(const void* memory) const;

  int blocks_of_head() const { return blocks_of_head_; }
  int unions() const { return unions_; }
  const SparseBlock& block(int of_union, int index) const {
    return blocks_[static_cast<std::size_t>(of_union) * static_cast<std::size_t>(blocks_of_head_) +
                   static_cast<std::size_t>(index)];
  }
  const SparseTile* tiles() const { return tiles_.data(); }
  const std::vector<SparseTile>& all_tiles() const { return tiles_; }
  const std::vector<SparseBlock>& all_blocks() const { return blocks_; }
  const std::vector<std::uint32_t>& words() const { return words_; }

  /// What parts share, of each head alike; in memory as at() has the lists; and the rows of all
  /// parts' results.
  const std::vector<SparseSplit>& splits() const { return splits_; }
  const SparseSplit* splits_at(const void* memory) const;
  int part_rows() const { return part_rows_.stored; }

 private:
  /// Which of a block's parts, and where its results begin.
  struct Part {
    int first_row, index, parts, first_part_row;
  };
  void add_block(const Part& part, const std::vector<SparseTile>& of_block, int behind_last);
  std::vector<int> longest_first() const;
  void put_in_order(const std::vector<int>& order);
  std::size_t tiles_begin() const { return sizeof(SparseBlock) * blocks_.size(); }
  std::size_t splits_begin() const { return tiles_begin() + sizeof(SparseTile) * tiles_.size(); }
  std::size_t words_begin() const { return splits_begin() + sizeof(SparseSplit) * splits_.size(); }
  SparseLists at(const SparseBlock* blocks, const SparseTile* tiles,
                 const std::uint32_t* words) const {
    return {blocks, tiles, words, blocks_of_head_, make_head_groups(unions_, 1)};
  }

  int unions_, blocks_of_head_;
  RowsOfParts part_rows_;
  std::vector<SparseBlock> blocks_;
  std::vector<SparseTile> tiles_;
  std::vector<SparseSplit> splits_;
  std::vector<std::uint32_t> words_;
};

}  // namespace sparkbench
