#include "kernels/volta/instance_launch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "kernels/registry.h"
#include "kernels/testing/messages.h"
#include "kernels/tile/forward_params.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/instance_table.h"

namespace sparkbench::volta {
namespace {

const KernelInstance& instance_of(std::string_view id) {
  for (const KernelInstance& instance : kernel_instances()) {
    if (instance.id == id) return instance;
  }
  throw std::invalid_argument(std::string(id));
}

Problem problem_of(int head_dim, float dropout_p = 0.0f) {
  return {.batch = 3,
          .heads = 5,
          .seqlen_q = 300,
          .seqlen_k = 700,
          .head_dim = head_dim,
          .mask = MaskSpec::causal(),
          .dropout_p = dropout_p};
}

template <class Params>
Params params_of(const InstanceLaunch& launch) {
  Params params;
  EXPECT_EQ(launch.parameters.size(), sizeof params);
  std::memcpy(&params, launch.parameters.data(), sizeof params);
  return params;
}

using Grid = std::array<int, 3>;

TEST(InstanceLaunch, HasABlockForEachTileOfRows) {
  const auto grid = [](std::string_view id, int head_dim) {
    return launch_of(instance_of(id), problem_of(head_dim)).grid;
  };
  EXPECT_EQ(grid("volta-fp32acc/fwd/d64", 64), (Grid{3, 5, 3}));       // 128 of 300 queries
  EXPECT_EQ(grid("volta-fp32acc/bwd/d64", 64), (Grid{6, 5, 3}));       // 128 of 700 keys
  EXPECT_EQ(grid("volta-fp32acc/bwd-dq/d128", 128), (Grid{5, 5, 3}));  // 64 of 300 queries
  // All 384 rows of the workspace, including those past the last.
  const int rows = instance_of("volta-fp32acc/bwd-statistics/d64").block_rows;
  EXPECT_EQ(grid("volta-fp32acc/bwd-statistics/d64", 64), (Grid{384 / rows, 5, 3}));
}

TEST(InstanceLaunch, HasBlocksOfKeysForEachKeyHead) {
  Problem problem = problem_of(64);
  problem.heads = 6;
  problem.heads_k = 2;
  const auto launch = [&](std::string_view id) { return launch_of(instance_of(id), problem); };
  EXPECT_EQ(launch("volta-fp32acc/fwd/d64").grid, (Grid{3, 6, 3}));
  EXPECT_EQ(launch("volta-fp32acc/bwd/d64").grid, (Grid{6, 2, 3}));
  EXPECT_EQ(launch("volta-fp32acc/bwd/d64/deterministic").grid, (Grid{6, 2, 3}));
  EXPECT_EQ(launch("volta-fp32acc/bwd-dq/d64").grid, (Grid{3, 6, 3}));
  EXPECT_EQ(params_of<BackwardParams>(launch("volta-fp32acc/bwd/d64")).groups.size, 3);
}

TEST(InstanceLaunch, HasTheParametersOfTheProblem) {
  const auto forward = params_of<ForwardParams>(
      launch_of(instance_of("volta-fp32acc/fwd/d64/dropout"), problem_of(64, 0.5f)));
  EXPECT_EQ(forward.heads, 5);
  EXPECT_TRUE(forward.is_last_tile_first);
  EXPECT_EQ(forward.tile_order_word, 1u);
  EXPECT_EQ(forward.mask.seqlen_k, 700);
  EXPECT_EQ(forward.dropout.threshold, 128u);
  const auto backward =
      params_of<BackwardParams>(launch_of(instance_of("volta-fp32acc/bwd/d64"), problem_of(64)));
  EXPECT_EQ(backward.query_end, 300);
  EXPECT_EQ(backward.workspace.rows_per_head, 384);
}

TEST(InstanceLaunch, HasSumsOfDqUnlessDeterministic) {
  const auto has_sums = [](std::string_view id) {
    const InstanceLaunch launch = launch_of(instance_of(id), problem_of(64));
    return params_of<BackwardParams>(launch).workspace.dq_sums != nullptr;
  };
  EXPECT_TRUE(has_sums("volta-fp16acc/bwd/d64"));
  EXPECT_TRUE(has_sums("volta-fp16acc/bwd-round-dq/d64"));
  EXPECT_FALSE(has_sums("volta-fp16acc/bwd/d64/deterministic"));
  EXPECT_FALSE(has_sums("volta-fp16acc/bwd-dq/d64"));
}

TEST(InstanceLaunch, HasTensorsAtPlacesOfTheirOwn) {
  const auto p =
      params_of<BackwardParams>(launch_of(instance_of("volta-fp32acc/bwd/d128"), problem_of(128)));
  const std::set<const void*> places = {
      p.q.first,  p.k.first,  p.v.first,  p.o.first, p.d_o.first,
      p.dq.first, p.dk.first, p.dv.first, p.lse,     p.workspace.statistics};
  EXPECT_EQ(places.size(), 10u);
  for (const void* const place : places) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 256, 0u);
  }
}

TEST(InstanceLaunch, TakesBatchEntriesForPackedSequences) {
  const InstanceLaunch forward =
      launch_of(instance_of("volta-fp32acc/fwd/d64/packed"), problem_of(64));
  ASSERT_TRUE(forward.lists);
  const auto params = params_of<ForwardParams>(forward);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(params.items), forward.lists->address);
  // Of 3 sequences of 300 queries, at most 9 blocks of 128; a head is axis 0.
  const int most = most_packed_blocks(900, 3, 128);
  EXPECT_EQ(forward.grid, (Grid{5, most, 1}));
  std::vector<WorkItem> items(most);
  ASSERT_EQ(forward.lists->bytes.size(), most * sizeof(WorkItem));
  std::memcpy(items.data(), forward.lists->bytes.data(), forward.lists->bytes.size());
  // The blocks of the last rows see the most of 700 keys.
  EXPECT_EQ(items[0].place.first_row, 256);
  EXPECT_EQ(items[0].place.sequence, 0);
  EXPECT_EQ(items[1].place.first_k, 700);
  EXPECT_EQ(items[8].place.first_row, 0);
  EXPECT_EQ(items[0].mask.seqlen_k, 700);
  const InstanceLaunch backward =
      launch_of(instance_of("volta-fp32acc/bwd/d64/packed"), problem_of(64));
  EXPECT_EQ(backward.grid, (Grid{5, most_packed_blocks(2100, 3, 128), 1}));
  EXPECT_FALSE(launch_of(instance_of("volta-fp32acc/fwd/d64"), problem_of(64)).lists);
}

TEST(InstanceLaunch, IsRefusedForAnotherProblem) {
  const auto refused = [](std::string_view id, const Problem& problem) -> std::string {
    return message_of<std::invalid_argument>([&] { launch_of(instance_of(id), problem); });
  };
  EXPECT_EQ(refused("volta-fp32acc/fwd/d64", problem_of(128)),
            "volta-fp32acc/fwd/d64 is not for head_dim 128");
  EXPECT_EQ(refused("volta-fp32acc/fwd/d64", problem_of(64, 0.1f)),
            "volta-fp32acc/fwd/d64 is not for problems with dropout");
  EXPECT_EQ(refused("volta-fp32acc/bwd/d64/dropout", problem_of(64)),
            "volta-fp32acc/bwd/d64/dropout is not for problems without dropout");
  EXPECT_EQ(refused("volta-fp32acc/bwd-statistics/d64", problem_of(64, 0.1f)), "");
}

TEST(InstanceLaunch, IsThereForEveryInstance) {
  for (const KernelInstance& instance : instances()) {
    const InstanceLaunch launch =
        launch_of(instance, problem_of(instance.head_dim, instance.has_dropout ? 0.1f : 0.0f));
    EXPECT_EQ(launch.threads, instance.threads) << instance.id;
    EXPECT_EQ(launch.dynamic_shared_bytes, instance.dynamic_shared_bytes) << instance.id;
  }
}

}  // namespace
}  // namespace sparkbench::volta
