// Block-sparse metadata (tile/sparse_list.h), made on the host: once for a pattern and its lengths,
// for any tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/mask/pattern/zone.h"
#include "kernels/tile/sparse_list.h"

namespace sparkbench {

struct Pattern;     // kernels/mask/pattern/pattern.h
struct SparseMask;  // kernels/mask/pattern/sparse_mask.h

/// Blocks of rows that visit keys, or of keys that visit rows.
struct SparseListKind {
  bool is_of_keys;
  int block_rows;                      // or keys: of a block
  int step;                            // keys, or rows, of a tile
  Range only = {0, kLongestSequence};  // tiles that begin there; others are left out
  bool splits = true;                  // blocks with many more tiles than others (work_items.h)
};

/// The split rows of each head, as SparseTileLists::part_rows(). Cached in the mask, because it
/// needs the plan: without `sights` the host evaluates all pairs of an expression for it.
int rows_of_parts(const SparseMask& mask, const SparseListKind& kind);

/// Blocks that visit most, over all heads, come first. Mask bits are words of 32 keys; a tile has a
/// multiple of 32. Partial tiles with equal bits share them. Uses the mask's device block mask
/// (`sights`) if it has one.
class SparseTileLists {
 public:
  SparseTileLists(const SparseMask& mask, const SparseListKind& kind);

  /// The lists in this object's memory.
  SparseLists on_host() const { return at(blocks_.data(), tiles_.data(), words_.data()); }

  /// The size of all of it elsewhere, aligned to 16 bytes; its bytes; and the lists there.
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

  /// The splits, alike for each head; the same in memory laid out as for at(); and the rows of all
  /// splits' results.
  const std::vector<SparseSplit>& splits() const { return splits_; }
  const SparseSplit* splits_at(const void* memory) const;
  int part_rows() const { return part_rows_; }

 private:
  /// Which split of a block, and where its results begin.
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
  int part_rows_;
  std::vector<SparseBlock> blocks_;
  std::vector<SparseTile> tiles_;
  std::vector<SparseSplit> splits_;
  std::vector<std::uint32_t> words_;
};

}  // namespace sparkbench
