#include "kernels/baselines/acsr/instance_launch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "kernels/baselines/acsr/instance_table.h"
#include "kernels/baselines/acsr/params.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench::acsr {
namespace {

Problem problem_of(int head_dim) {
  Problem problem{.batch = 2, .heads = 3, .seqlen_q = 300, .seqlen_k = 300, .head_dim = head_dim};
  problem.sparse = make_sparse_mask("strided:2", 300, 300);
  return problem;
}

/// Two classes of 150 rows are four blocks, and of 150 keys.
TEST(AcsrInstanceLaunch, HasABlockForEachOfRowsOrKeys) {
  for (const KernelInstance& instance : instances()) {
    const InstanceLaunch launch = launch_of(instance, problem_of(instance.head_dim));
    const int parts = instance.products == 0 ? 128 / instance.block_rows : 1;
    EXPECT_EQ(launch.grid, (std::array<int, 3>{4 * parts, 3, 2})) << instance.id;
    EXPECT_EQ(launch.threads, instance.threads);
    EXPECT_EQ(launch.dynamic_shared_bytes, instance.dynamic_shared_bytes);
  }
}

TEST(AcsrInstanceLaunch, HasTheRowsWhereItsParametersSay) {
  const Problem problem = problem_of(64);
  const InstanceLaunch launch = launch_of(instances().front(), problem);
  ChainParams params;
  ASSERT_EQ(launch.parameters.size(), sizeof params);
  std::memcpy(&params, launch.parameters.data(), sizeof params);
  const MaskRows rows(problem);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(params.blocks), launch.lists->address);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(params.rows), launch.lists->address + rows.rows_at());
  std::vector<std::byte> want = rows.all_bytes();
  const std::vector<std::byte> keys = MaskKeys(problem, rows).all_bytes();
  want.insert(want.end(), keys.begin(), keys.end());
  EXPECT_EQ(launch.lists->bytes, want);
}

TEST(AcsrInstanceLaunch, RefusesAnotherHeadDim) {
  EXPECT_THROW(launch_of(instances().front(), problem_of(128)), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench::acsr
