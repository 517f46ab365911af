#include "kernels/launch/tensor_regions.h"

#include <gtest/gtest.h>

#include <vector>

namespace sparkbench {
namespace {

TEST(TensorRegions, AreTheRowsOfStridedViews) {
  const Problem problem{.batch = 2, .heads = 3, .seqlen_q = 5, .seqlen_k = 4, .head_dim = 8};
  std::vector<Half> packed(2 * 5 * 4 * 8);  // [batch, seqlen, 4 rows], of which q has 3
  const TensorView<const Half> q{packed.data() + 8, 5 * 32, 32, 8};
  const TensorRegion region = input_region("q", q, query_shape(problem));
  EXPECT_EQ(region.base, packed.data() + 8);
  EXPECT_EQ(region.row_bytes, 16u);
  EXPECT_EQ(region.extent, (std::array<int, 3>{2, 5, 3}));
  EXPECT_EQ(region.pitch_bytes, (std::array<std::int64_t, 3>{320, 64, 16}));
  EXPECT_FALSE(region.writable);
  EXPECT_EQ(regions_of(std::span(&region, 1))[0].bytes,
            extent_bytes(q, 2, problem.seqlen_q, 3, problem.head_dim));
}

TEST(TensorRegions, AreWholeForContiguousTensors) {
  const Problem problem{.batch = 2, .heads = 3, .seqlen_q = 5, .seqlen_k = 4, .head_dim = 8};
  std::vector<Half> dk(problem.k_elements());
  const TensorRegion region =
      output_region("dk", contiguous_view(dk.data(), 4, 3, 8), key_shape(problem));
  EXPECT_TRUE(region.writable);
  EXPECT_FALSE(region.written_before);
  const GlobalRegion whole = regions_of(std::span(&region, 1))[0];
  EXPECT_EQ(whole.bytes, dk.size() * sizeof(Half));
  EXPECT_TRUE(whole.exists.empty());
}

}  // namespace
}  // namespace sparkbench
