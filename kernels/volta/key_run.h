// A run of blocks of keys: what a block of the kernel of dK and dV goes over, one after the other,
// where rows see windows.
//
// Of a window the queries that see a block's keys are a few tiles, of which the first see no key
// behind the block's. Whoever takes blocks of keys in ascending order has all of dQ of these once
// the block is done. So it rounds them there, and keeps sums of no more queries than see one block
// of keys: a *ring*, of which one query takes the place of another. There is no pass over memory
// to set sums to zero, and none to round them.
//
// The first queries of a run see keys of the run before. Their dQ belongs to this run, which goes
// over these blocks of keys again, for these queries alone and without dK and dV. So no two blocks
// of threads add to the same sums: the bits of dQ depend neither on who comes first nor on where
// runs begin.
#pragma once

#include "kernels/mask/key_mask.h"

namespace sparkbench::volta {

/// All runs of a launch.
struct KeyRuns {
  int keys = 0;       // of a run, whole blocks of them
  int of_head = 0;    // runs
  int key_heads = 0;  // of a tensor
  int ring_mask = 0;  // the queries that a ring has sums of, a power of 2, less 1
};

/// A run of keys. Rows of queries are whole steps.
template <int kBlockKeys, int kStep>
struct KeyRun {
  const KeyMask& mask;
  int begin, end;  // whole blocks of keys, of which the last may reach past the sequence's end

  /// The first query of those that see a key from `key` on, a block's first: of its step. All of
  /// them, where there is no such key.
  SPARK_HD int first_query(int key) const {
    if (key >= mask.seqlen_k) return mask.seqlen_q;
    return key == 0 ? 0 : mask.rows(key).begin / kStep * kStep;
  }
  /// The first key of the first block of keys: of those that its first query sees, or of its own.
  SPARK_HD int first_key() const {
    const int seen = most_of(0, mask.begin(first_query(begin)));
    return least_of(begin, seen / kBlockKeys * kBlockKeys);
  }
  SPARK_HD bool has(int first_key) const { return first_key < least_of(end, mask.seqlen_k); }
  /// Whether dK and dV of a block of keys are its own.
  SPARK_HD bool owns(int first_key) const { return first_key >= begin; }

  /// Of the queries that see a block's keys, those that it walks. Steps behind its own last query
  /// are the next run's: nobody reads what it adds up of their dQ.
  SPARK_HD Range walked_at(int first_key) const {
    return {most_of(mask.rows(first_key).begin, first_query(begin)),
            least_of(first_key + kBlockKeys - mask.begin_offset, mask.seqlen_q)};
  }
  /// Whether a step's queries, which see a key of the block, see none before.
  SPARK_HD bool is_first(int first_key, int query) const {
    return first_key == 0 || query >= first_key - mask.begin_offset;
  }
  /// The queries that see a key of the block, but none behind.
  SPARK_HD Range finished_at(int first_key) const {
    return {first_query(first_key), first_query(first_key + kBlockKeys)};
  }
};

}  // namespace sparkbench::volta
