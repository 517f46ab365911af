#include "reference/cudnn/ragged_batch.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace sparkbench::cudnn {
namespace {

RaggedBatch batch_of(const MaskSpec& mask, const std::vector<SequenceLength>& lengths) {
  return ragged_batch(
      with_lengths({.mask = mask}, std::make_shared<const SequenceLengths>(lengths)));
}

using Four = std::array<int, 4>;  // first row, rows, first key, keys

std::vector<Four> sequences_of(const RaggedBatch& batch) {
  std::vector<Four> all;
  for (const RaggedSequence& one : batch.sequences) {
    all.push_back({one.first_row, one.rows, one.first_key, one.keys});
  }
  return all;
}

using Pairs = std::vector<std::pair<int, int>>;

Pairs pairs_of(const std::vector<Range>& ranges) {
  Pairs pairs;
  for (const Range& range : ranges) pairs.emplace_back(range.begin, range.end);
  return pairs;
}

TEST(CudnnRaggedBatch, LeavesOutEmptySequences) {
  const RaggedBatch batch = batch_of(MaskSpec::full(), {{0, 0}, {5, 3}, {7, 0}, {0, 9}, {1, 2}});
  EXPECT_EQ(sequences_of(batch), (std::vector<Four>{{0, 5, 0, 3}, {12, 1, 12, 2}}));
  EXPECT_EQ(pairs_of(batch.blind_rows), (Pairs{{5, 12}}));
  EXPECT_EQ(pairs_of(batch.unread_keys), (Pairs{{3, 12}}));
  EXPECT_EQ(batch.longest_rows, 5);
  EXPECT_EQ(batch.longest_keys, 3);
  EXPECT_EQ(batch.total_rows, 13);
  EXPECT_EQ(batch.total_keys, 14);
}

TEST(CudnnRaggedBatch, LeavesOutRowsThatSeeNoKey) {
  const RaggedBatch batch = batch_of(MaskSpec::causal(), {{5, 3}, {2, 2}, {1, 4}});
  EXPECT_EQ(sequences_of(batch), (std::vector<Four>{{2, 3, 0, 3}, {5, 2, 3, 2}, {7, 1, 5, 4}}));
  EXPECT_EQ(pairs_of(batch.blind_rows), (Pairs{{0, 2}}));
  EXPECT_TRUE(batch.unread_keys.empty());
  EXPECT_FALSE(batch.are_square());
  EXPECT_TRUE(batch_of(MaskSpec::causal(), {{5, 3}, {2, 2}}).are_square());
}

TEST(CudnnRaggedBatch, KnowsWhereSequencesBegin) {
  const RaggedBatch batch = batch_of(MaskSpec::causal(), {{5, 3}, {0, 4}, {2, 2}});
  EXPECT_EQ(batch.first_rows(10), (std::vector<std::int64_t>{20, 50, 70}));
  EXPECT_EQ(batch.first_keys(1), (std::vector<std::int64_t>{0, 7, 9}));
  EXPECT_EQ(batch.rows(), (std::vector<std::int32_t>{3, 2}));
  EXPECT_EQ(batch.keys(), (std::vector<std::int32_t>{3, 2}));
}

TEST(CudnnRaggedBatch, MayHaveNoSequence) {
  const RaggedBatch batch = batch_of(MaskSpec::full(), {{0, 4}, {3, 0}});
  EXPECT_TRUE(batch.sequences.empty());
  EXPECT_TRUE(batch.first_rows(1).empty());
  EXPECT_EQ(pairs_of(batch.blind_rows), (Pairs{{0, 3}}));
  EXPECT_EQ(pairs_of(batch.unread_keys), (Pairs{{0, 4}}));
}

}  // namespace
}  // namespace sparkbench::cudnn
