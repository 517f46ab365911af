// Lists the blocks of varlen sequences (work_list.h), those with most to do first: a counting sort
// by how many keys, or rows, a block visits. One block of threads does it, so that the order is the
// same in every run:
//   1  each sequence's blocks, and where they begin among all
//   2  how many blocks of each length class a thread has; threads have equally many blocks
//   3  where each class of each thread begins in the list
//   4  the blocks to their indices
#pragma once

#include <cstring>

#include "kernels/base/planted_fault.h"
#include "kernels/tile/work_list.h"

namespace sparkbench {

struct WorkListParams {
  const int* cu_seqlens_q;
  const int* cu_seqlens_k;
  int batch, total_q, total_k;
  OpenMask mask;
  bool is_of_keys;  // blocks of keys, and not of queries
  int block_rows;
  int* first_block;  // scratch, [batch + 1]: of each sequence among all blocks
  WorkItem* items;
  int items_end;  // their room
};

/// One for each axis-0 block of the launch.
struct WorkListsParams {
  WorkListParams list[2];
};

inline constexpr int kListThreads = 256;
inline constexpr int kLengthClasses = 32;

/// All of the block's shared memory. A thread's counts are a column, and every 32 numbers are
/// followed by a gap, so that rows are scanned without bank conflicts.
struct ListTiles {
  static constexpr int kCounts = kLengthClasses * kListThreads;

  int count[kCounts + kCounts / 32];
  int sum[2][kListThreads];
  int longest[kListThreads / 32];

  SPARK_HD int* at(int i) { return &count[i + i / 32]; }
  SPARK_HD int* of_class(int length_class, int thread) {
    return at(length_class * kListThreads + thread);
  }
};

template <class Machine>
class BlockLister {
 public:
  SPARK_DEVICE BlockLister(Machine& machine, const WorkListParams& params)
      : machine_(machine), params_(params), tiles_(machine.template shared<ListTiles>()) {}

  SPARK_DEVICE void run() {
    count_sequences();  // line 1
    const int all = load(&params_.first_block[params_.batch]);
    const int own = (all + kListThreads - 1) / kListThreads;
    const Range blocks = {least_of(own * thread(), all), least_of(own * (thread() + 1), all)};
    for (int i = 0; i < kLengthClasses; ++i) store(tiles_.of_class(i, thread()), 0);
    for_blocks(blocks, [&](const WorkItem&, int length_class) {  // line 2
      int* const count = tiles_.of_class(length_class, thread());
      store(count, load_own(count) + 1);
    });
    machine_.barrier();
    scan_counts();                                                    // line 3
    for_blocks(blocks, [&](const WorkItem& item, int length_class) {  // line 4
      int* const next = tiles_.of_class(length_class, thread());
      const int place = load_own(next);
      store(next, place + 1);
      if (place >= params_.items_end) return;
      store_item(place, item);
    });
    for (int i = all + thread(); i < params_.items_end; i += kListThreads) {
      store_item(i, {{kNoWork, 0, 0, 0}, {}, {}});
    }
  }

 private:
  SPARK_DEVICE int thread() const { return machine_.thread(); }
  SPARK_DEVICE int load(const int* address) { return machine_.template load_global<int>(address); }
  SPARK_DEVICE int load_own(const int* address) {
    return machine_.template load_shared<int>(address);
  }
  SPARK_DEVICE void store(int* address, int value) { machine_.store_shared(address, value); }
  SPARK_DEVICE void store_item(int place, const WorkItem& item) {
    Bits128 bits[3];
    static_assert(sizeof bits == sizeof item, "whole stores");
    memcpy(bits, &item, sizeof bits);
    machine_.store_global(&params_.items[place].place, bits[0]);
    machine_.store_global(&params_.items[place].mask, bits[1]);
    machine_.store_global(&params_.items[place].walk, bits[2]);
  }

  /// Rows of a sequence in its varlen tensor, clamped to it whatever the offsets are.
  SPARK_DEVICE Range rows(const int* cu_seqlens, int sequence, int total) {
    const int begin = least_of(most_of(load(&cu_seqlens[sequence]), 0), total);
    return {begin, least_of(most_of(load(&cu_seqlens[sequence + 1]), begin), total)};
  }
  SPARK_DEVICE Range queries(int sequence) {
    return rows(params_.cu_seqlens_q, sequence, params_.total_q);
  }
  SPARK_DEVICE Range keys(int sequence) {
    return rows(params_.cu_seqlens_k, sequence, params_.total_k);
  }
  SPARK_DEVICE int blocks_of(int length) const {
    return (length + params_.block_rows - 1) / params_.block_rows;
  }

  /// The exclusive prefix sum of `value` over the block's threads; all of them call it. The last
  /// thread's sum plus its own value is the total.
  SPARK_DEVICE int sum_before(int value) {
    int sum = value, from = 0;
    store(&tiles_.sum[0][thread()], sum);
    for (int distance = 1; distance < kListThreads; distance *= 2) {
      machine_.barrier();
      if (thread() >= distance) sum += load_own(&tiles_.sum[from][thread() - distance]);
      from ^= 1;
      store(&tiles_.sum[from][thread()], sum);
    }
    machine_.barrier();
    return sum - value;
  }

  /// Where each sequence's blocks begin, and the longest that a block can walk.
  SPARK_DEVICE void count_sequences() {
    const int own = (params_.batch + kListThreads - 1) / kListThreads;
    const Range sequences = {least_of(own * thread(), params_.batch),
                             least_of(own * (thread() + 1), params_.batch)};
    int blocks = 0, longest = 0;
    for (int i = sequences.begin; i < sequences.end; ++i) {
      const int seqlen_q = queries(i).size(), seqlen_k = keys(i).size();
      blocks += blocks_of(params_.is_of_keys ? seqlen_k : seqlen_q);
      longest = most_of(longest, params_.is_of_keys ? seqlen_q : seqlen_k);
    }
    int before = sum_before(blocks);
    for (int i = sequences.begin; i < sequences.end; ++i) {
      machine_.store_global(&params_.first_block[i], before);
      before += blocks_of((params_.is_of_keys ? keys(i) : queries(i)).size());
    }
    if (thread() == kListThreads - 1)
      machine_.store_global(&params_.first_block[params_.batch], before);
    for (int distance = 1; distance < 32; distance *= 2) {
      longest = most_of(longest, machine_.shuffle_xor(longest, distance));
    }
    if (machine_.lane() == 0) store(&tiles_.longest[machine_.warp()], longest);
    machine_.barrier();
    for (int warp = 0; warp < kListThreads / 32; ++warp) {
      longest = most_of(longest, load_own(&tiles_.longest[warp]));
    }
    while (longest >> shift_ >= kLengthClasses) ++shift_;
  }

  /// The sequence of block `index` of all; there is one.
  SPARK_DEVICE int sequence_of(int index) {
    int first = 0, end = params_.batch;
    while (end - first > 1) {
      const int middle = (first + end) / 2;
      if (load(&params_.first_block[middle]) <= index) {
        first = middle;
      } else {
        end = middle;
      }
    }
    return first;
  }

  /// Calls visit(item, length class) for some of all blocks, ascending; class 0 is the longest.
  template <class Visit>
  SPARK_DEVICE void for_blocks(const Range& blocks, Visit visit) {
    int index = blocks.begin;
    while (index < blocks.end) {
      const int sequence = sequence_of(index);
      const int first = load(&params_.first_block[sequence]);
      const int end = least_of(load(&params_.first_block[sequence + 1]), blocks.end);
      const Range queries = this->queries(sequence),
                  keys = this->keys(SPARK_PLANTED(kPackedKeysOfSequenceBefore, sequence,
                                                  most_of(sequence - 1, 0)));
      const KeyMask mask = key_mask_of(params_.mask, queries.size(), keys.size());
      for (; index < end; ++index) {
        const int first_row = (index - first) * params_.block_rows;
        const Range walked = this->walked(mask, first_row), all = seen_by_all(mask, first_row);
        visit(WorkItem{{first_row, sequence, queries.begin, keys.begin},
                       {mask.seqlen_q, mask.seqlen_k, mask.begin_offset, mask.end_offset},
                       {params_.is_of_keys ? queries.begin : keys.begin, walked.end, all.begin,
                        all.end}},
              kLengthClasses - 1 - (walked.size() >> shift_));
      }
    }
  }

  /// The keys, or rows, that a block visits, and those of them that all of it sees.
  SPARK_DEVICE Range walked(const KeyMask& mask, int first_row) const {
    const Range own = {first_row, least_of(first_row + params_.block_rows, length_of(mask))};
    if (own.is_empty()) return {0, 0};
    return params_.is_of_keys ? mask.rows_of_any(own) : mask.keys_of_any(own);
  }
  SPARK_DEVICE Range seen_by_all(const KeyMask& mask, int first_row) const {
    const Range own = {first_row, first_row + params_.block_rows};
    if (own.end > length_of(mask)) return {0, 0};
    return params_.is_of_keys ? mask.rows_of_all(own) : mask.keys_of_all(own);
  }
  SPARK_DEVICE int length_of(const KeyMask& mask) const {
    return params_.is_of_keys ? mask.seqlen_k : mask.seqlen_q;
  }

  SPARK_DEVICE void scan_counts() {
    constexpr int kOwn = kLengthClasses;
    int sum = 0;
    for (int i = 0; i < kOwn; ++i) sum += load_own(tiles_.at(kOwn * thread() + i));
    int before = sum_before(sum);
    for (int i = 0; i < kOwn; ++i) {
      int* const count = tiles_.at(kOwn * thread() + i);
      const int value = load_own(count);
      store(count, before);
      before += value;
    }
    machine_.barrier();
  }

  Machine& machine_;
  const WorkListParams& params_;
  ListTiles& tiles_;
  int shift_ = 0;  // from the length that a block walks to its length class
};

/// The kernel: a list for each of its blocks, of kListThreads threads.
template <class Machine>
SPARK_DEVICE void list_blocks(Machine& machine, const WorkListsParams& params) {
  const WorkListParams list = params.list[machine.block(0)];
  BlockLister<Machine>(machine, list).run();
}

}  // namespace sparkbench
