// A block of threads' coordinates, and its copies: rows of a class, wherever they are in memory.
#pragma once

#include "kernels/baselines/acsr/params.h"

namespace sparkbench::acsr {

/// Block `index` of a head: rows of one class, and the places that they see.
template <class Machine>
class ChainBlock {
 public:
  SPARK_DEVICE ChainBlock(Machine& machine, const ChainParams& params, int index)
      : machine_(machine), params_(params), head_(machine.block(1)), batch_(machine.block(2)) {
    const int turn = params.unions.key_head(head_);
    const int of_union = head_ - turn * params.unions.size;
    const RowBlock* const block =
        params.blocks + (static_cast<std::int64_t>(of_union) * params.blocks_of_head + index);
    const auto low = machine.template load_global<Bits128>(block);
    const auto high = machine.template load_global<Bits64>(&block->begin);
    rows_ = params.rows +
            (static_cast<std::int64_t>(of_union) * params.seqlen_q + static_cast<int>(low.word[0]));
    row_count_ = static_cast<int>(low.word[1]);
    residue_ = static_cast<int>(low.word[2]);
    stride_ = static_cast<int>(low.word[3]);
    begin_ = static_cast<int>(high.word[0]);
    end_ = static_cast<int>(high.word[1]);
    values_ = params.values +
              kChunkPlaces * (batch_ * params.chunks_of_batch + turn * params.chunks_of_turn);
  }

  SPARK_DEVICE int row_count() const { return row_count_; }
  /// Places (rows.h) that some row sees; the first is a multiple of kTileKeys.
  SPARK_DEVICE int begin() const { return begin_; }
  SPARK_DEVICE int end() const { return end_; }
  SPARK_DEVICE int head() const { return head_; }
  SPARK_DEVICE int batch() const { return batch_; }

  /// A row that does not exist sees nothing, and is row -1.
  SPARK_DEVICE AffineRow row(int index) const {
    if (index >= row_count_) return {-1, 0, 0, 0};
    const auto bits = machine_.template load_global<Bits128>(rows_ + index);
    return {static_cast<int>(bits.word[0]), static_cast<int>(bits.word[1]),
            static_cast<int>(bits.word[2]), static_cast<int>(bits.word[3])};
  }
  /// The row of a tensor with one row per query; null for row -1.
  template <class T>
  SPARK_DEVICE T* query(const ChunkedView<T>& tensor, int row) const {
    return row < 0 ? nullptr : tensor.at(batch_, row, head_);
  }
  /// The row of a tensor with one row per key, for a place; null past the last key.
  SPARK_DEVICE const Bits16* key(const ChunkedView<const Bits16>& tensor, int place) const {
    const int key = residue_ + stride_ * place;
    if (place >= end_ || key >= params_.seqlen_k) return nullptr;
    return tensor.at(batch_, key, params_.groups.key_head(head_));
  }
  /// Chunk `chunk` of a row's places, `origin` its AffineRow's.
  SPARK_DEVICE Half* values(int origin, int chunk) const {
    return values_ + std::int64_t{kChunkPlaces} * (origin + chunk);
  }

 private:
  Machine& machine_;
  const ChainParams& params_;
  int head_, batch_;
  const AffineRow* rows_;
  int row_count_, residue_, stride_, begin_, end_;
  Half* values_;
};

/// Block `block(0)` of a key head: places of one class, and the class's rows that see them.
template <class Machine>
class ChainKeys {
 public:
  SPARK_DEVICE ChainKeys(Machine& machine, const ChainParams& params)
      : machine_(machine), params_(params), key_head_(machine.block(1)), batch_(machine.block(2)) {
    const int head = first_head();
    const int of_union = head - params.unions.key_head(head) * params.unions.size;
    const KeyBlock* const block =
        params.key_blocks +
        (static_cast<std::int64_t>(of_union) * params.key_blocks_of_head + machine.block(0));
    const auto low = machine.template load_global<Bits128>(block);
    first_place_ = static_cast<int>(low.word[0]);
    residue_ = static_cast<int>(low.word[1]);
    stride_ = static_cast<int>(low.word[2]);
    first_row_ = static_cast<int>(low.word[3]);
    end_row_ = machine.template load_global<int>(&block->end_row);
    rows_ = params.rows + static_cast<std::int64_t>(of_union) * params.seqlen_q;
  }

  SPARK_DEVICE bool is_there() const { return stride_ > 0; }
  SPARK_DEVICE int first_place() const { return first_place_; }
  SPARK_DEVICE int first_row() const { return first_row_; }
  SPARK_DEVICE int end_row() const { return end_row_; }
  /// First of the query heads that read the keys.
  SPARK_DEVICE int first_head() const { return key_head_ * params_.groups.size; }
  SPARK_DEVICE int tiles() const {
    return params_.groups.size * ((end_row_ - first_row_ + kTileRows - 1) / kTileRows);
  }

  /// A row that does not exist sees nothing, and is row -1.
  SPARK_DEVICE AffineRow row(int index) const {
    if (index >= end_row_) return {-1, 0, 0, 0};
    const auto bits = machine_.template load_global<Bits128>(rows_ + index);
    return {static_cast<int>(bits.word[0]), static_cast<int>(bits.word[1]),
            static_cast<int>(bits.word[2]), static_cast<int>(bits.word[3])};
  }
  /// Where the values of a head's rows begin.
  SPARK_DEVICE const Half* values_of(int head) const {
    const int turn = params_.unions.key_head(head);
    return params_.values +
           kChunkPlaces * (batch_ * params_.chunks_of_batch + turn * params_.chunks_of_turn);
  }
  SPARK_DEVICE const Bits16* query(int row, int head) const {
    return params_.q.at(batch_, row, head);
  }
  /// The row of the result for the block's place `place`; null past the last key.
  SPARK_DEVICE Bits16* key(int place) const {
    const int key = residue_ + stride_ * (first_place_ + place);
    return key < params_.seqlen_k ? params_.o.at(batch_, key, key_head_) : nullptr;
  }

 private:
  Machine& machine_;
  const ChainParams& params_;
  int key_head_, batch_;
  int first_place_, residue_, stride_, first_row_, end_row_;
  const AffineRow* rows_;
};

/// The places that some of several rows see (begin, end), and that all rows that exist see (core).
struct RowPlaces {
  int begin, end;
  int core_begin, core_end;

  SPARK_DEVICE bool are_none_of(int first, int last) const { return last <= begin || first >= end; }
  SPARK_DEVICE bool have_all_of(int first, int last) const {
    return first >= core_begin && last <= core_end;
  }
};

template <class Machine, class Combine>
SPARK_DEVICE int combine_warp(Machine& machine, int value, Combine combine) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = combine(value, machine.shuffle_xor(value, lanes));
  }
  return value;
}

/// RowPlaces of kRows rows from the block's `first_row` on.
template <int kRows, class Machine>
SPARK_DEVICE RowPlaces places_of_rows(Machine& machine, const ChainBlock<Machine>& block,
                                      int first_row) {
  constexpr int kMost = 0x7fffffff;
  const auto least = [](int a, int b) { return a < b ? a : b; };
  const auto largest = [](int a, int b) { return a > b ? a : b; };
  RowPlaces of = {kMost, 0, 0, kMost};
#pragma unroll
  for (int first = 0; first < kRows; first += 32) {
    const AffineRow row = block.row(first_row + first + machine.lane());
    const bool sees_some = row.first < row.end;
    // A row that sees nothing makes every tile partial; one that does not exist makes none so.
    const int core_begin = row.row < 0 ? 0 : row.first, core_end = row.row < 0 ? kMost : row.end;
    of = {least(of.begin, sees_some ? row.first : kMost), largest(of.end, sees_some ? row.end : 0),
          largest(of.core_begin, core_begin), least(of.core_end, core_end)};
  }
  return {combine_warp(machine, of.begin, least), combine_warp(machine, of.end, largest),
          combine_warp(machine, of.core_begin, largest), combine_warp(machine, of.core_end, least)};
}

/// A warp's share of kTileRows rows that kWarps warps copy, kChunks chunks each: on its way from
/// global to shared memory through registers.
template <int kTileRows, int kRowChunks, int kWarps>
class CopiedRows {
 public:
  /// address(row) is where a row begins, null for zeros; so are chunks from `chunks` on.
  template <class Machine, class Address>
  SPARK_DEVICE void load(Machine& machine, int chunks, Address address) {
    const int chunk = machine.lane() % kRowChunks;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const Bits16* const row = address(row_of(machine, i));
      copied_[i] = Bits128{};
      if (row != nullptr && chunk < chunks) {
        copied_[i] = machine.template load_global<Bits128>(row + kChunkHalves * chunk);
      }
    }
  }
  /// place(row, chunk) in shared memory.
  template <class Machine, class Place>
  SPARK_DEVICE void store(Machine& machine, Place place) const {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      machine.store_shared(place(row_of(machine, i), machine.lane() % kRowChunks), copied_[i]);
    }
  }

 private:
  static constexpr int kRowsAtOnce = 32 / kRowChunks;
  static constexpr int kRows = kTileRows / kWarps;
  static constexpr int kCopies = kRows / kRowsAtOnce;
  static_assert(kRows % kRowsAtOnce == 0, "a warp copies whole rows");

  template <class Machine>
  SPARK_DEVICE static int row_of(Machine& machine, int i) {
    return kRows * machine.warp() + kRowsAtOnce * i + machine.lane() / kRowChunks;
  }

  Bits128 copied_[kCopies];
};

}  // namespace sparkbench::acsr
