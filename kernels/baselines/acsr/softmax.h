// R-softmax: in place, over each row's values.
//
// A warp has a row:
//    1  m = max S, l = sum exp(S - m), over eight chunks a lane at a time
//    2  P = exp(S - m) / l, 0 where a place is not seen, rounded to fp16
//    3  log-sum-exp; -inf for a row that sees nothing
#pragma once

#include <cmath>

#include "kernels/baselines/acsr/block.h"
#include "kernels/baselines/acsr/softmax_config.h"
#include "kernels/tile/log2e.h"

namespace sparkbench::acsr {

template <class Config, class Machine>
class SoftmaxRow {
 public:
  SPARK_DEVICE SoftmaxRow(Machine& machine, const ChainBlock<Machine>& block, const AffineRow& row)
      : machine_(machine), first_(block.values(row.first_chunk, 0)), chunks_(row.chunks()) {}

  /// Those of piece `piece` of the row to registers.
  SPARK_DEVICE void load(int piece) {
#pragma unroll
    for (int i = 0; i < Config::kLaneChunks; ++i) {
      const int chunk = chunk_of(piece, i);
      if (!has_some(piece, i)) continue;
      held_[i] = Bits128{{kTwoHidden, kTwoHidden, kTwoHidden, kTwoHidden}};
      if (chunk < chunks_) {
        held_[i] = machine_.template load_global<Bits128>(first_ + kChunkPlaces * chunk);
      }
    }
  }
  /// Line 1, of what is held.
  SPARK_DEVICE void include(int piece) {
    float largest = -INFINITY;
    visit(piece, [&](std::uint32_t pair) {
      largest = fmaxf(largest, fmaxf(machine_.low_half(pair), machine_.high_half(pair)));
    });
    largest = combine_rows(largest, [](float a, float b) { return fmaxf(a, b); });
    const float before = m_;
    m_ = fmaxf(m_, largest);
    const float rescale = exponential(before);
    float sum = 0.0f;
    visit(piece, [&](std::uint32_t pair) {
      sum += exponential(machine_.low_half(pair));
      sum += exponential(machine_.high_half(pair));
    });
    l_ = machine_.fma(l_, rescale, combine_rows(sum, [](float a, float b) { return a + b; }));
  }
  /// Line 2, of what is held.
  SPARK_DEVICE void store(int piece) {
    const float inverse = l_ == 0.0f ? 0.0f : machine_.reciprocal(l_);
#pragma unroll
    for (int i = 0; i < Config::kLaneChunks; ++i) {
      const int chunk = chunk_of(piece, i);
      if (chunk >= chunks_) continue;
      Bits128 p;
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const std::uint32_t pair = held_[i].word[word];
        p.word[word] = machine_.pack_halves(exponential(machine_.low_half(pair)) * inverse,
                                            exponential(machine_.high_half(pair)) * inverse);
      }
      machine_.store_global(first_ + kChunkPlaces * chunk, p);
    }
  }
  SPARK_DEVICE int pieces() const { return (chunks_ + kPieceChunks - 1) / kPieceChunks; }
  SPARK_DEVICE float log_sum_exp() const {
    return l_ == 0.0f ? -INFINITY : machine_.fma(kLn2, machine_.log2(l_), m_);
  }

 private:
  static constexpr int kPieceChunks = Config::kPieceChunks;
  static constexpr std::uint32_t kTwoHidden = 0xfc00fc00;  // -inf twice

  SPARK_DEVICE int chunk_of(int piece, int i) const {
    return kPieceChunks * piece + 32 * i + machine_.lane();
  }
  /// Whether a lane has an i-th chunk: short rows cost what they have.
  SPARK_DEVICE bool has_some(int piece, int i) const {
    return kPieceChunks * piece + 32 * i < chunks_;
  }
  template <class Visit>
  SPARK_DEVICE void visit(int piece, Visit visit) const {
#pragma unroll
    for (int i = 0; i < Config::kLaneChunks; ++i) {
      if (!has_some(piece, i)) continue;
#pragma unroll
      for (int word = 0; word < 4; ++word) visit(held_[i].word[word]);
    }
  }
  /// 0 of -inf, even where there is nothing else. fmaxf() passes over a NaN, which shows here.
  SPARK_DEVICE float exponential(float score) const {
    return machine_.exp2((score - (m_ == -INFINITY ? 0.0f : m_)) * kLog2E);
  }
  template <class Combine>
  SPARK_DEVICE float combine_rows(float value, Combine combine) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      value = combine(value, machine_.shuffle_xor(value, lanes));
    }
    return value;
  }

  Machine& machine_;
  Half* first_;
  int chunks_;
  Bits128 held_[Config::kLaneChunks];
  float m_ = -INFINITY, l_ = 0.0f;
};

template <class Config, class Machine>
SPARK_DEVICE void normalize_rows(Machine& machine, const ChainParams& params) {
  constexpr int kBlocks = Config::kBlocksOfRows;
  const ChainBlock<Machine> block(machine, params, machine.block(0) / kBlocks);
  const AffineRow row = block.row(row_of_warp<Config>(machine, machine.block(0) % kBlocks));
  if (row.row < 0) return;
  SoftmaxRow<Config, Machine> softmax(machine, block, row);
  const int pieces = softmax.pieces();
  for (int piece = 0; piece < pieces; ++piece) {
    softmax.load(piece);
    softmax.include(piece);  // line 1
  }
  for (int piece = pieces - 1; piece >= 0; --piece) {
    if (piece != pieces - 1) softmax.load(piece);
    softmax.store(piece);  // line 2
  }
  if (machine.lane() == 0) {  // line 3
    machine.store_global(params.lse + lse_offset(block.batch(), block.head(), row.row, params.heads,
                                                 params.seqlen_q),
                         softmax.log_sum_exp());
  }
}

}  // namespace sparkbench::acsr
