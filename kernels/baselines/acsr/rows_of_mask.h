// From a mask to its affine rows, on the host: once for a mask and its lengths, for any tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/baselines/acsr/rows.h"
#include "kernels/problem/attention.h"

namespace sparkbench::acsr {

/// Head h has pattern h % unions. Rows of a class, and classes, follow each other; of a pattern's
/// blocks those that visit most places come first.
class MaskRows {
 public:
  /// Throws std::invalid_argument, telling the row, for a mask that is no ACSR: a row's keys are no
  /// arithmetic progression, or rows of a head have several strides; and for one whose rows have
  /// 2^31 chunks of values or more.
  explicit MaskRows(const Problem& problem);

  int unions() const { return static_cast<int>(chunks_of_unions_.size()); }
  int blocks_of_head() const { return blocks_of_head_; }
  const std::vector<AffineRow>& rows() const { return rows_; }     // [unions, seqlen_q]
  const std::vector<RowBlock>& blocks() const { return blocks_; }  // [unions, blocks_of_head]
  /// A head's rows.
  const AffineRow* rows_of(int head) const { return rows_.data() + union_of(head) * seqlen_q_; }
  const RowBlock* blocks_of(int head) const {
    return blocks_.data() + union_of(head) * static_cast<std::size_t>(blocks_of_head_);
  }

  /// Chunks of values of all patterns once; AffineRow::first_chunk counts from the first pattern's.
  std::uint64_t chunks_of_turn() const;
  /// Chunks of the longest row.
  int most_chunks() const { return most_chunks_; }
  /// Chunks of values of all heads.
  std::uint64_t chunks_of_heads(int heads) const;

  /// Room for all of it elsewhere, aligned to 16 bytes; and its bytes: blocks, then rows.
  std::size_t bytes() const { return rows_at() + sizeof(AffineRow) * rows_.size(); }
  std::size_t rows_at() const { return sizeof(RowBlock) * blocks_.size(); }
  std::vector<std::byte> all_bytes() const;

 private:
  std::size_t union_of(int head) const { return static_cast<std::size_t>(head % unions()); }

  std::size_t seqlen_q_;
  int most_chunks_ = 0;
  int blocks_of_head_ = 0;
  std::vector<AffineRow> rows_;
  std::vector<RowBlock> blocks_;
  std::vector<std::uint64_t> chunks_of_unions_;
};

}  // namespace sparkbench::acsr
