// Which passes use the dQ semaphore, with which slots, and which key blocks add to a query's dQ.
#include "kernels/volta/backward/relay_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/volta/backward/workspace.h"

namespace sparkbench::volta {
namespace {

/// On both sides of a step and of a block, with keys after a query, and all keys.
constexpr MaskSpec kMasks[] = {
    MaskSpec::window(1),   MaskSpec::window(33),  MaskSpec::window(64),   MaskSpec::window(65),
    MaskSpec::window(200), MaskSpec::band(20, 5), MaskSpec::band(64, 64), MaskSpec::band(0, 100),
    MaskSpec::causal(),    MaskSpec::full()};

/// By definition: the key blocks with a key that a query of a step sees.
Range blocks_of_step(const KeyMask& mask, int block_keys, int query) {
  Range blocks{mask.seqlen_k, 0};
  for (int row = query; row < std::min(query + kRelayStep, mask.seqlen_q); ++row) {
    for (int key = 0; key < mask.seqlen_k; ++key) {
      if (!mask.sees(row, key)) continue;
      blocks = {std::min(blocks.begin, key / block_keys),
                std::max(blocks.end, key / block_keys + 1)};
    }
  }
  return blocks;
}

TEST(VoltaRelayGeometry, IsTheMasks) {
  for (const MaskSpec& mask_spec : kMasks) {
    for (const int more_keys : {0, 7, 40}) {
      SCOPED_TRACE(testing::Message() << name_of(mask_spec) << ", " << more_keys);
      const Problem problem{.seqlen_q = 500, .seqlen_k = 500 + more_keys, .mask = mask_spec};
      const KeyMask mask = problem.key_mask();
      const DqRelay relay = make_relay(problem, all_step_bits(problem), nullptr);
      const RelayGeometry geometry{mask, relay.last_key, relay_block_keys(problem.head_dim)};
      std::vector<int> finished(500);
      for (int query = 0; query < mask.seqlen_q; query += kRelayStep) {
        const Range blocks = blocks_of_step(mask, geometry.block_keys, query);
        EXPECT_EQ(geometry.first_block(query), blocks.begin);
        EXPECT_EQ(geometry.last_block(query), blocks.end - 1);
        const Range rows = geometry.finished_by(blocks.begin);
        EXPECT_TRUE(rows.contains({query, std::min(query + kRelayStep, mask.seqlen_q)})) << query;
      }
      for (int block = 0; block < relay.key_blocks; ++block) {
        const Range rows = geometry.finished_by(block);
        for (int row = rows.begin; row < rows.end; ++row) ++finished[static_cast<std::size_t>(row)];
      }
      EXPECT_EQ(finished, std::vector<int>(500, 1));
    }
  }
}

TEST(VoltaRelayPlan, GivesEachStepASlotOfItsOwnWhileBlocksAddToIt) {
  for (const int group : {1, 3}) {
    for (const MaskSpec& mask_spec :
         {MaskSpec::window(1), MaskSpec::window(200), MaskSpec::band(64, 64),
          MaskSpec::window(1024), MaskSpec::causal(), MaskSpec::full()}) {
      SCOPED_TRACE(testing::Message() << name_of(mask_spec) << ", groups of " << group);
      const Problem problem{
          .heads = 2 * group, .seqlen_q = 4096, .seqlen_k = 4096, .mask = mask_spec, .heads_k = 2};
      const KeyMask mask = problem.key_mask();
      const DqRelay relay = make_relay(problem, relay_slot_bits(problem, 0), nullptr);
      const RelayGeometry geometry{mask, relay.last_key, relay_block_keys(problem.head_dim)};
      // In launch order: the number of the block after which a slot is free.
      std::vector<int> free_behind(std::size_t{relay.slot_mask} + 1, -1);
      std::vector<std::uint32_t> turn(free_behind.size(), 0);
      for (int head = 0; head < 2; ++head) {
        for (int step = relay_steps(problem) - 1; step >= 0; --step) {
          const int query = kRelayStep * step;
          const int of_head = relay.key_blocks * (head + 1) - 1;
          for (int member = 0; member < group; ++member) {
            const DqSlot slot = dq_slot(relay, group, head, member, step);
            ASSERT_LT(free_behind[slot.slot], of_head - geometry.last_block(query));
            ASSERT_EQ(slot.first_turn, turn[slot.slot]);
            free_behind[slot.slot] = of_head - geometry.first_block(query);
            turn[slot.slot] = next_first_turn(relay, slot);
            ASSERT_GT(turn[slot.slot],
                      slot.first_turn + static_cast<std::uint32_t>(geometry.last_block(query) -
                                                                   geometry.first_block(query)));
          }
        }
      }
    }
  }
}

Problem long_problem(const MaskSpec& mask, int seqlen = 16384) {
  return {.heads = 32, .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = 64, .mask = mask};
}

TEST(VoltaRelayPlan, IsOfWindowsAllOfWhoseRowsSeeAKey) {
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::window(1)), false));
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::window(128)), false));
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::window(2048)), false));
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::band(64, 64)), false));
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::window(128), 129), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::window(2049)), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::causal()), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::full()), false));
  Problem problem = long_problem(MaskSpec::window(128));
  problem.head_dim = 128;
  EXPECT_TRUE(has_relay(problem, false));
  problem.mask = MaskSpec::window(1025);
  EXPECT_FALSE(has_relay(problem, false));
  problem.mask = MaskSpec::window(128);
  problem.head_dim = 96;
  EXPECT_FALSE(has_relay(problem, false));
  problem.head_dim = 64;
  problem.seqlen_q += 1;  // its first query sees no key
  EXPECT_FALSE(has_relay(problem, false));
}

TEST(VoltaRelayPlan, IsOfMasksThatShowSomeOfTheLastBlocksKeys) {
  Problem problem = long_problem(MaskSpec::band(128, -1), 513);
  problem.seqlen_k = 600;
  EXPECT_TRUE(has_relay(problem, false));
  problem.seqlen_k = 577;  // of which nobody sees the last, the first of its block
  EXPECT_FALSE(has_relay(problem, false));
  problem.head_dim = 128;
  EXPECT_TRUE(has_relay(problem, false));
}

/// If each row sees all keys, all blocks begin with the same query, and wait.
TEST(VoltaRelayPlan, IsOfShortSequencesWhoseBlocksHardlyWait) {
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::causal(), 2048), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::causal(), 2049), false));
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::full(), 512), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::full(), 513), false));
  EXPECT_TRUE(has_relay(long_problem(MaskSpec::band(2000, 511), 800), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::band(2000, 512), 800), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::prefix(10), 128), false));
  EXPECT_FALSE(has_relay(long_problem(MaskSpec::prefix(200), 128), false));
  Problem problem = long_problem(MaskSpec::full(), 512);
  problem.head_dim = 128;
  EXPECT_TRUE(has_relay(problem, false));
  problem.mask = MaskSpec::causal();
  problem.seqlen_q = problem.seqlen_k = 1024;
  EXPECT_TRUE(has_relay(problem, false));
  problem.seqlen_q = problem.seqlen_k = 1025;
  EXPECT_FALSE(has_relay(problem, false));
}

TEST(VoltaRelayPlan, PreparesStatisticsWhereTheLastBlockHasFewQueries) {
  const auto prepares = [](int head_dim, const MaskSpec& mask, int seqlen) {
    Problem problem = long_problem(mask, seqlen);
    problem.head_dim = head_dim;
    return make_relay(problem, 9, nullptr).prepares_statistics;
  };
  for (const int head_dim : {64, 128}) {
    EXPECT_TRUE(prepares(head_dim, MaskSpec::window(1), 16384));
    EXPECT_TRUE(prepares(head_dim, MaskSpec::window(1024), 16384));
    EXPECT_TRUE(prepares(head_dim, MaskSpec::causal(), 1024));
    EXPECT_TRUE(prepares(head_dim, MaskSpec::full(), 256));
  }
  EXPECT_FALSE(prepares(64, MaskSpec::full(), 257));
  EXPECT_TRUE(prepares(128, MaskSpec::full(), 512));
  EXPECT_FALSE(prepares(128, MaskSpec::full(), 513));
}

TEST(VoltaRelayPlan, IsOfNoDeterministicPass) {
  Problem problem = long_problem(MaskSpec::window(128));
  EXPECT_FALSE(has_relay(problem, true));
  problem.head_dim = 128;
  EXPECT_FALSE(has_relay(problem, true));
}

TEST(VoltaRelayPlan, HasSlotsForBlocksAtOnce) {
  EXPECT_EQ(relay_slot_bits(long_problem(MaskSpec::window(128))), 9);
  EXPECT_EQ(relay_slot_bits(long_problem(MaskSpec::window(1024))), 9);
  EXPECT_EQ(relay_slot_bits(long_problem(MaskSpec::window(128), 256)), 8);  // all steps
  Problem problem = long_problem(MaskSpec::window(128));
  problem.heads_k = 8;
  EXPECT_EQ(relay_slot_bits(problem), 11);
}

TEST(VoltaRelayPlan, NeedsLessMemoryThanSumsOfAllQueries) {
  const auto bytes_of = [](const Problem& problem, bool is_deterministic) {
    return workspace_bytes(*find_attention_kernel("volta-fp32acc"), problem, Pass::kBackward,
                           is_deterministic);
  };
  Problem problem = long_problem(MaskSpec::window(128));
  EXPECT_EQ(bytes_of(problem, false), statistics_bytes(problem) + 512 * (32 * 64 * 4 + 4));
  EXPECT_EQ(bytes_of(problem, true), statistics_bytes(problem));
  // A GPU may have no room for blocks of 128 columns.
  problem.head_dim = 128;
  EXPECT_EQ(bytes_of(problem, false), statistics_bytes(problem) + dq_sums_bytes(problem, false));
  problem.heads = 1;
  problem.seqlen_q = problem.seqlen_k = 33 * kRelayStep;
  EXPECT_EQ(bytes_of(problem, false), statistics_bytes(problem) + 64 * (32 * 128 * 4 + 4));
}

}  // namespace
}  // namespace sparkbench::volta
