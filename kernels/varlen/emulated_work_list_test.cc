// Varlen work lists: complete, the longest blocks first, and no longer than their memory.
#include "kernels/varlen/emulated_work_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/varlen/emulated_work_list_sample.h"

namespace sparkbench {
namespace {

/// Offsets of sequences of so many rows, or keys.
std::vector<int> offsets_of(const std::vector<int>& seqlens) {
  std::vector<int> offsets(seqlens.size() + 1);
  std::partial_sum(seqlens.begin(), seqlens.end(), offsets.begin() + 1);
  return offsets;
}

std::vector<WorkItem> list_of(const MaskSpec& mask, const std::vector<int>& seqlens_q,
                              const std::vector<int>& seqlens_k, const WorkListKind& kind) {
  const std::vector<int> cu_seqlens_q = offsets_of(seqlens_q), cu_seqlens_k = offsets_of(seqlens_k);
  const Problem packed{
      .seqlen_q = cu_seqlens_q.back(), .seqlen_k = cu_seqlens_k.back(), .mask = mask};
  const PackedLengths lengths{static_cast<int>(seqlens_q.size()), cu_seqlens_q.data(),
                              cu_seqlens_k.data()};
  const EmulatedWorkList list(packed, lengths, kind);
  const EmulationReport report = list.emulate({.profile = &arithmetic_profile("volta")});
  EXPECT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
  return {list.items(), list.items() + list.size()};
}

/// What an item's block walks, by its own numbers.
int walked(const WorkItem& item, const WorkListKind& kind) {
  const KeyMask mask{item.mask.seqlen_q, item.mask.seqlen_k, item.mask.begin_offset,
                     item.mask.end_offset, 0};
  const int length = kind.is_of_keys ? mask.seqlen_k : mask.seqlen_q;
  const Range own{item.place.first_row, std::min(item.place.first_row + kind.block_rows, length)};
  return (kind.is_of_keys ? mask.rows_of_any(own) : mask.keys_of_any(own)).size();
}

std::vector<int> lengths(int count, unsigned seed) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    all.push_back(seed >> 28 == 0 ? 0 : static_cast<int>(seed >> 20) % 1500);
  }
  return all;
}

void expect_whole_and_sorted(int count, const WorkListKind& kind) {
  const std::vector<int> seqlens_q = lengths(count, 1), seqlens_k = lengths(count, 2);
  const std::vector<WorkItem> items = list_of(MaskSpec::causal(), seqlens_q, seqlens_k, kind);
  const std::vector<int>& own = kind.is_of_keys ? seqlens_k : seqlens_q;
  std::set<std::pair<int, int>> wanted, listed;
  for (int i = 0; i < count; ++i) {
    const int blocks = ceil_divide(own[static_cast<std::size_t>(i)], kind.block_rows);
    for (int b = 0; b < blocks; ++b) wanted.insert({i, b * kind.block_rows});
  }
  int least = 1 << 30;
  for (const WorkItem& item : items) {
    if (item.place.first_row == kNoWork) continue;
    EXPECT_TRUE(listed.insert({item.place.sequence, item.place.first_row}).second);
    // Of 1500 at most, in 32 classes or more than 16.
    EXPECT_LT(walked(item, kind), least + 64);
    least = std::min(least, walked(item, kind));
  }
  EXPECT_EQ(listed, wanted);
}

TEST(WorkList, HasEveryBlockOnceAndTheLongestFirst) {
  for (const int count : {1, 7, 300, 700}) {
    SCOPED_TRACE(count);
    expect_whole_and_sorted(count, {false, 128});
    expect_whole_and_sorted(count, {true, 128});
    expect_whole_and_sorted(count, {false, 256});
  }
}

TEST(WorkList, KeepsTheOrderOfEqualBlocks) {
  const std::vector<WorkItem> items =
      list_of(MaskSpec::full(), {300, 0, 130}, {9, 9, 9}, {false, 128});
  ASSERT_EQ(items.size(), 6u);  // room for a part of a block more than there is
  const int rows[] = {0, 128, 256, 0, 128}, sequences[] = {0, 0, 0, 2, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(items[i].place.first_row, rows[i]);
    EXPECT_EQ(items[i].place.sequence, sequences[i]);
  }
  EXPECT_EQ(items[5].place.first_row, kNoWork);
}

TEST(WorkList, TellsWhatABlockWalks) {
  const std::vector<WorkItem> items = list_of(MaskSpec::causal(), {40, 256}, {7, 256}, {true, 128});
  ASSERT_GE(items.size(), 3u);
  const auto first = std::find_if(items.begin(), items.end(), [](const WorkItem& item) {
    return item.place.sequence == 1 && item.place.first_row == 128;
  });
  ASSERT_NE(first, items.end());
  EXPECT_EQ(first->place.first_k, 7);
  EXPECT_EQ(first->walk.first, 40);
  EXPECT_EQ(first->walk.end, 256);
  EXPECT_EQ(first->walk.all_begin, 255);  // the last key's rows
  EXPECT_EQ(first->walk.all_end, 256);
}

TEST(WorkList, FillsWholeAxes) {
  const Problem packed{.seqlen_q = 40000, .seqlen_k = 40000};
  EXPECT_EQ(work_items(packed, 40000, {false, 128}), 2 * kItemsOfAxis);
  EXPECT_EQ(work_items(packed, 10, {false, 128}), 322);
  EXPECT_EQ(work_items({.seqlen_q = 3, .seqlen_k = 0}, 100, {false, 128}), 3);
  EXPECT_EQ(work_items({.seqlen_q = 3, .seqlen_k = 0}, 100, {true, 128}), 0);
  EXPECT_EQ(packed_grid(4, 2 * kItemsOfAxis), (std::array<int, 3>{4, kItemsOfAxis, 2}));
}

}  // namespace
}  // namespace sparkbench
