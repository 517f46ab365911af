// The gradient of R-softmax: dS over dP, in place, over each row's values.
//
// A warp has a row:
//    1  D = sum P dP, over the chunks that a lane keeps at a time
//    2  dS = P (dP - D), rounded to fp16; 0 where a place is not seen, since P is
#pragma once

#include "kernels/baselines/acsr/block.h"
#include "kernels/baselines/acsr/softmax_config.h"

namespace sparkbench::acsr {

template <class Config, class Machine>
class SoftmaxGradientRow {
  static constexpr int kLaneChunks = Config::kLaneChunks;
  static constexpr int kPieceChunks = Config::kPieceChunks;

 public:
  SPARK_DEVICE SoftmaxGradientRow(Machine& machine, const Half* p, Half* gradient, int chunks)
      : machine_(machine), p_(p), gradient_(gradient), chunks_(chunks) {}

  SPARK_DEVICE int pieces() const { return (chunks_ + kPieceChunks - 1) / kPieceChunks; }
  SPARK_DEVICE void load(int piece) {
#pragma unroll
    for (int i = 0; i < kLaneChunks; ++i) {
      held_p_[i] = held_[i] = Bits128{};
      const int chunk = chunk_of(piece, i);
      if (chunk >= chunks_) continue;
      held_p_[i] = machine_.template load_global<Bits128>(p_ + kChunkPlaces * chunk);
      held_[i] = machine_.template load_global<Bits128>(gradient_ + kChunkPlaces * chunk);
    }
  }
  /// Line 1, of what is held.
  SPARK_DEVICE void include() {
#pragma unroll
    for (int i = 0; i < kLaneChunks; ++i) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const std::uint32_t p = held_p_[i].word[word], dp = held_[i].word[word];
        sum_ = machine_.fma(machine_.low_half(p), machine_.low_half(dp), sum_);
        sum_ = machine_.fma(machine_.high_half(p), machine_.high_half(dp), sum_);
      }
    }
  }
  SPARK_DEVICE void finish_sum() {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      sum_ += machine_.shuffle_xor(sum_, lanes);
    }
  }
  /// Line 2, of what is held.
  SPARK_DEVICE void store(int piece) {
#pragma unroll
    for (int i = 0; i < kLaneChunks; ++i) {
      const int chunk = chunk_of(piece, i);
      if (chunk >= chunks_) continue;
      Bits128 gradient;
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const std::uint32_t p = held_p_[i].word[word], dp = held_[i].word[word];
        gradient.word[word] =
            machine_.pack_halves(machine_.low_half(p) * (machine_.low_half(dp) - sum_),
                                 machine_.high_half(p) * (machine_.high_half(dp) - sum_));
      }
      machine_.store_global(gradient_ + kChunkPlaces * chunk, gradient);
    }
  }

 private:
  SPARK_DEVICE int chunk_of(int piece, int i) const {
    return kPieceChunks * piece + 32 * i + machine_.lane();
  }

  Machine& machine_;
  const Half* p_;
  Half* gradient_;
  int chunks_;
  Bits128 held_p_[kLaneChunks], held_[kLaneChunks];
  float sum_ = 0.0f;
};

template <class Config, class Machine>
SPARK_DEVICE void differentiate_rows(Machine& machine, const SoftmaxGradientParams& params) {
  constexpr int kBlocks = Config::kBlocksOfRows;
  const ChainBlock<Machine> block(machine, params.scores, machine.block(0) / kBlocks);
  const AffineRow row = block.row(row_of_warp<Config>(machine, machine.block(0) % kBlocks));
  if (row.row < 0) return;
  Half* const gradient = block.values(row.first_chunk, 0);
  SoftmaxGradientRow<Config, Machine> own(
      machine, params.probabilities + (gradient - params.scores.values), gradient, row.chunks());
  const int pieces = own.pieces();
  for (int piece = 0; piece < pieces; ++piece) {
    own.load(piece);
    own.include();  // line 1
  }
  own.finish_sum();
  for (int piece = pieces - 1; piece >= 0; --piece) {
    if (piece != pieces - 1) own.load(piece);
    own.store(piece);  // line 2
  }
}

}  // namespace sparkbench::acsr
