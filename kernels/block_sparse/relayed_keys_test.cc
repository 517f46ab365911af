#include "kernels/block_sparse/relayed_keys.h"

#include <gtest/gtest.h>

#include <map>
#include <string_view>
#include <vector>

#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr SparseListKind in_relay(int block_keys) {
  SparseListKind kind{true, block_keys, 32};
  kind.splits = false;
  kind.is_in_relay = true;
  return kind;
}

RelayOfKeys relay_of(std::string_view spec, int seqlen_q, int seqlen_k) {
  return relay_of_keys(*make_sparse_mask(spec, seqlen_q, seqlen_k), in_relay(64), 4096);
}

/// Of each step of a union's rows, by its first row: SparseTile::seen of its tiles, in the order of
/// the blocks that take part.
std::map<int, std::vector<std::uint32_t>> turns_of(const SparseTileLists& lists, int of_union,
                                                   const std::vector<bool>& takes_part) {
  std::map<int, std::vector<std::uint32_t>> turns;
  for (int index = 0; index < lists.blocks_of_head(); ++index) {
    if (!takes_part[static_cast<std::size_t>(index)]) continue;
    const SparseBlock& block = lists.block(of_union, index);
    for (int i = block.first_tile; i < block.first_tile + block.tiles; ++i) {
      turns[first_of_step(lists.tiles()[i].step)].push_back(lists.tiles()[i].seen);
    }
  }
  return turns;
}

void expect_each_turn_once(const SparseTileLists& lists, const std::vector<bool>& takes_part) {
  for (int u = 0; u < lists.unions(); ++u) {
    for (const auto& [step, seen] : turns_of(lists, u, takes_part)) {
      for (std::size_t i = 0; i < seen.size(); ++i) {
        ASSERT_EQ(turns_before(seen[i]), i) << "rows from " << step;
        ASSERT_EQ(is_last_turn(seen[i]), i + 1 == seen.size()) << "rows from " << step;
      }
    }
  }
}

/// By where their first keys stand among the rows, which they walk.
TEST(SparseListsInRelay, LaunchTheLastKeysFirst) {
  const auto sequence = make_sparse_mask("blocked:128", 1000, 1000);
  const SparseTileLists plain(*sequence, in_relay(128));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(plain.block(0, i).first_row, 128 * (7 - i));
  // Keys of lines of 256 in tiles of 2 x 32: tile t has columns from 32 (t / 32) on.
  const auto mask = make_sparse_mask("fixed:256:32", 16384, 16384);
  ASSERT_NE(mask->in_order, nullptr);
  const SparseTileLists lists(*mask, in_relay(64));
  for (int i = 0; i < lists.blocks_of_head(); ++i) {
    const int lines = 31 - i / 8, columns = 7 - i % 8;
    ASSERT_EQ(lists.block(0, i).first_row, 64 * (32 * columns + lines)) << i;
  }
}

/// Blocks wait for those alone that are launched before them.
TEST(SparseListsInRelay, GiveTurnsInTheOrderOfTheLaunch) {
  Random random(8);
  for (int i = 0; i < 40; ++i) {
    SparseMask mask;
    mask.pattern = random_pattern(random, 300).pattern;
    SparseTileLists lists(mask, in_relay(64));
    std::vector<bool> takes_part(static_cast<std::size_t>(lists.blocks_of_head()), true);
    expect_each_turn_once(lists, takes_part);
    for (std::size_t block = 0; block < takes_part.size(); block += 2) takes_part[block] = false;
    lists.give_turns(takes_part);
    expect_each_turn_once(lists, takes_part);
  }
}

TEST(SparseListsInRelay, SplitNoBlock) {
  const auto mask = make_sparse_mask("longformer:64:16", 8192, 8192);
  ASSERT_GT(SparseTileLists(*mask, {true, 64, 32}).part_rows(), 0);
  EXPECT_EQ(SparseTileLists(*mask, in_relay(64)).part_rows(), 0);
  EXPECT_EQ(rows_of_parts(*mask, in_relay(64)).stored, 0);
}

TEST(RelayOfKeys, CountsStepsThatABlockWaits) {
  // A block alone with its rows, and one behind whose first rows none sees: none waits.
  EXPECT_EQ(relay_of("chunk:64", 1024, 1024).most_waits, 0);
  EXPECT_EQ(relay_of("window:128", 1024, 1024).most_waits, 0);
  EXPECT_EQ(relay_of("window:128", 1024, 1024).tiles, 6 * 16 - 2 - 4);
  // Two that begin with the same rows.
  EXPECT_EQ(relay_of("chunk:128", 1024, 1024).most_waits, 1);
  EXPECT_EQ(relay_of("blocked:128", 1024, 1024).most_waits, 1);
  // Each of all keys' blocks begins with the first row.
  EXPECT_EQ(relay_of("chunk:512", 1024, 1024).most_waits, 7);
  // The first row sees all keys, so that each block begins with it.
  EXPECT_EQ(relay_of("longformer:64:16", 1024, 1024).most_waits, 15);
  // The block that sees all rows comes last, and each of its rows is done.
  EXPECT_EQ(relay_of("sink:4+window:128", 1024, 1024).most_waits, 0);
}

TEST(RelayOfKeys, CountsStepsOfWhichABlockIsTheFirst) {
  EXPECT_EQ(relay_of("chunk:64", 1024, 1024).most_first, 2);
  // The last keys' block is launched first: its queries, and those of 127 keys more elsewhere.
  EXPECT_EQ(relay_of("window:128", 1024, 1024).most_first, 2);
  // The second block of each line has the queries that see it and the line before, the first none.
  EXPECT_EQ(relay_of("blocked:128", 1024, 1024).most_first, 4);
  EXPECT_EQ(relay_of("chunk:512", 1024, 1024).most_first, 16);
}

TEST(RelayOfKeys, TellsOfBlocksThatAreBetterSplit) {
  EXPECT_FALSE(relay_of("window:128", 8192, 8192).splits_blocks);
  EXPECT_TRUE(relay_of("longformer:64:16", 8192, 8192).splits_blocks);
}

TEST(RelayOfKeys, TellsWhetherARowIsNobodys) {
  EXPECT_TRUE(relay_of("window:128", 1000, 1000).reaches_all_rows);
  EXPECT_TRUE(relay_of("nd:20x20:5x5", 400, 400).reaches_all_rows);
  // The last rows see keys that are not there.
  EXPECT_FALSE(relay_of("chunk:64", 1024, 512).reaches_all_rows);
}

/// The host looks at each tile of those alone that are few.
TEST(RelayOfKeys, IsNotLookedForWhereRowsSeeManyKeys) {
  const auto mask = make_sparse_mask("chunk:512", 1024, 1024);
  const RelayOfKeys relay = relay_of_keys(*mask, in_relay(64), 511);
  EXPECT_FALSE(relay.reaches_all_rows);
  EXPECT_EQ(relay.tiles, 16 * 16);
  EXPECT_TRUE(relay_of_keys(*make_sparse_mask("chunk:512", 1024, 1024), in_relay(64), 512)
                  .reaches_all_rows);
}

/// Of the union that has most; of several, each has to reach all rows.
TEST(RelayOfKeys, IsOfAllUnions) {
  const auto of_unions = [](std::string_view spec) {
    return relay_of_keys(*make_sparse_mask(spec, 1024, 1024, 2), in_relay(64), 4096);
  };
  EXPECT_EQ(of_unions("chunk:64/chunk:512").most_waits, 7);
  EXPECT_EQ(of_unions("chunk:64/chunk:512").most_first, 16);
  EXPECT_EQ(of_unions("chunk:64/chunk:512").tiles, 2 * 8 * 16);
}

}  // namespace
}  // namespace sparkbench
