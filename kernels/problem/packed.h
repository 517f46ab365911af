// Varlen: sequences of any lengths, one after the other. q, o and their gradients are [total_q,
// heads, head_dim], k, v and theirs [total_k, heads_k, head_dim], lse is [heads, total_q].
//
// Such tensors are those of a *packed problem*: a Problem of batch 1, whose seqlen_q and seqlen_k
// are the totals, of which either may be 0. cu_seqlens is in device memory, so that no host waits
// for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/problem/attention.h"

namespace sparkbench {

/// Sequence i has rows cu_seqlens_q[i] to below cu_seqlens_q[i + 1], and likewise keys. Each may be
/// empty: rows without keys have o = 0, lse = -inf and zero gradients, keys without rows zero
/// gradients. Mask and dropout count rows and keys from the sequence's first; dropout takes i for
/// the batch entry. Offsets must begin at 0, never fall, and end at the total: otherwise results
/// are undefined, but no memory except the tensors' is touched.
struct PackedLengths {
  int batch;                // 0 or more
  const int* cu_seqlens_q;  // [batch + 1], in the memory of the device that runs it
  const int* cu_seqlens_k;  // [batch + 1]
};

/// The sequences of a problem with lengths, in the host's memory, which the problem owns.
inline PackedLengths packed_lengths(const Problem& problem) {
  const SequenceLengths& lengths = *problem.lengths;
  return {lengths.batch(), lengths.cu_seqlens_q().data(), lengths.cu_seqlens_k().data()};
}

/// Most blocks of `block_rows` rows that `batch` sequences of `total` rows can have.
inline int most_packed_blocks(int total, int batch, int block_rows) {
  const std::int64_t with_partial =
      (std::int64_t{total} + std::int64_t{batch} * (block_rows - 1)) / block_rows;
  return static_cast<int>(std::min<std::int64_t>(with_partial, total));
}

}  // namespace sparkbench
