// Attention as host and device share it: the problem. Its tensors: kernels/problem/tensors.h.
//   O = dropout(softmax(softmax_scale * Q K^T + mask)) V,   LSE = log(sum(exp(softmax_scale * S)))
// No CUDA header, C++17.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/base/accumulator.h"
#include "kernels/base/element_type.h"
#include "kernels/base/host_device.h"
#include "kernels/mask/key_mask.h"
#include "kernels/problem/dropout.h"
#include "kernels/problem/sequence_lengths.h"

namespace sparkbench {

struct SparseMask;  // kernels/mask/pattern/sparse_mask.h

/// kForwardBackward is a training step's attention, one after the other.
enum class Pass { kForward, kBackward, kForwardBackward };

/// One attention problem. Every extent is at least 1. With `lengths`, tensors are varlen
/// (kernels/problem/packed.h): these are the lengths of the `batch` sequences, of which there may
/// be none, and seqlen_q and seqlen_k are the longest, which may be 0.
struct Problem {
  int batch = 1;
  int heads = 1;
  int seqlen_q = 1;
  int seqlen_k = 1;
  int head_dim = 64;
  MaskSpec mask;
  float dropout_p = 0.0f;      // in [0, 1); applied in 256ths (kernels/problem/dropout.h)
  float softmax_scale = 0.0f;  // 0 means 1 / sqrt(head_dim)
  std::uint64_t seed = 0;      // of the dropout mask
  int heads_k = 0;             // of keys and values: divides `heads`, 0 means as many
  DropoutScale dropout_scale = DropoutScale::kApplied;
  std::uint64_t dropout_offset = 0;  // tells calls of one seed apart (kernels/problem/dropout.h)
  std::shared_ptr<const SequenceLengths> lengths = nullptr;  // null: all sequences are alike
  /// A pattern over seqlen_q and seqlen_k. `mask` is then full, and there are no `lengths`. Null:
  /// none.
  std::shared_ptr<const SparseMask> sparse = nullptr;
  /// For a strided view of another problem: the dropout mask is of_sequences() of this one
  /// (kernels/mask/dropout_views.h).
  std::uint32_t first_dropout_sequence = 0;
  ElementType element = ElementType::kFp16;  // of all tensors but LSE

  int key_heads() const { return heads_k != 0 ? heads_k : heads; }
  /// Query heads that read a key head, and which one a query head reads: as FlashAttention-2.
  int group_size() const { return heads / key_heads(); }
  int key_head(int head) const { return head / group_size(); }

  float scale() const {
    return softmax_scale != 0.0f ? softmax_scale : 1.0f / std::sqrt(static_cast<float>(head_dim));
  }

  int seqlen_q_of(int sequence) const { return lengths ? lengths->q(sequence) : seqlen_q; }
  int seqlen_k_of(int sequence) const { return lengths ? lengths->k(sequence) : seqlen_k; }
  /// Rows, and keys, of all sequences.
  std::size_t total_q() const { return total(seqlen_q, &SequenceLengths::total_q); }
  std::size_t total_k() const { return total(seqlen_k, &SequenceLengths::total_k); }
  /// All sequences as one, as varlen kernels take them. The problem must have lengths.
  Problem packed() const;
  /// A sequence by itself. As an entry of the batch it has another dropout mask.
  Problem alone(int sequence) const;

  /// Throws std::logic_error if sequences have lengths, and so masks, of their own, or if the mask
  /// is a pattern.
  KeyMask key_mask() const {
    if (lengths) throw std::logic_error("packed sequences have a mask each");
    if (sparse) throw std::logic_error("a pattern is no mask of one run of keys a row");
    return make_key_mask(mask, seqlen_q, seqlen_k);
  }
  KeyMask key_mask_of(int sequence) const {
    return make_key_mask(mask, seqlen_q_of(sequence), seqlen_k_of(sequence));
  }
  Dropout dropout() const {
    Dropout made = make_dropout(dropout_p, seed, dropout_scale);
    made.offset = {static_cast<std::uint32_t>(dropout_offset),
                   static_cast<std::uint32_t>(dropout_offset >> 32)};
    return of_sequences(made, first_dropout_sequence);
  }

  std::size_t q_elements() const { return elements(total_q(), heads); }
  std::size_t k_elements() const { return elements(total_k(), key_heads()); }
  std::size_t lse_elements() const { return static_cast<std::size_t>(heads) * total_q(); }

 private:
  std::size_t total(int seqlen, int (SequenceLengths::*of_all)() const) const {
    if (lengths) return static_cast<std::size_t>((lengths.get()->*of_all)());
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(seqlen);
  }
  std::size_t elements(std::size_t rows, int of_heads) const {
    return rows * static_cast<std::size_t>(of_heads) * static_cast<std::size_t>(head_dim);
  }
};

inline Problem Problem::packed() const {
  Problem all = *this;
  all.batch = 1;
  all.seqlen_q = lengths->total_q();
  all.seqlen_k = lengths->total_k();
  all.lengths = nullptr;
  return all;
}

inline Problem Problem::alone(int sequence) const {
  Problem one = *this;
  one.batch = 1;
  one.seqlen_q = seqlen_q_of(sequence);
  one.seqlen_k = seqlen_k_of(sequence);
  one.lengths = nullptr;
  return one;
}

/// `problem` with sequences of these lengths.
inline Problem with_lengths(Problem problem, std::shared_ptr<const SequenceLengths> lengths) {
  problem.batch = lengths->batch();
  problem.seqlen_q = lengths->longest_q();
  problem.seqlen_k = lengths->longest_k();
  problem.lengths = std::move(lengths);
  return problem;
}

/// Index of the first element of row (b, s, h) of a [batch, seqlen, heads, head_dim] tensor.
SPARK_HD std::size_t row_offset(int b, int s, int h, int seqlen, int heads, int head_dim) {
  return ((static_cast<std::size_t>(b) * static_cast<std::size_t>(seqlen) +
           static_cast<std::size_t>(s)) *
              static_cast<std::size_t>(heads) +
          static_cast<std::size_t>(h)) *
         static_cast<std::size_t>(head_dim);
}

/// Index of (b, h, s) of a [batch, heads, seqlen_q] tensor.
SPARK_HD std::size_t lse_offset(int b, int h, int s, int heads, int seqlen_q) {
  return (static_cast<std::size_t>(b) * static_cast<std::size_t>(heads) +
          static_cast<std::size_t>(h)) *
             static_cast<std::size_t>(seqlen_q) +
         static_cast<std::size_t>(s);
}

}  // namespace sparkbench
