#include "reference/cudnn/supported_problems.h"

#include <gtest/gtest.h>

#include "reference/cudnn/test_problems.h"

namespace sparkbench::cudnn {
namespace {

TEST(CudnnSupportedProblems, LeavesOutPackedSequencesThatCudnnDoesNotSupport) {
  const auto why_none = [](const Problem& problem, std::size_t version = kTestVersion) {
    return why_no_graph(problem, version).value_or("");
  };
  const MaskSpec causal = MaskSpec::causal(), full = MaskSpec::full();
  EXPECT_EQ(why_none(packed_problem(test_lengths(), full, 0.25f)), "");
  EXPECT_EQ(why_none(packed_problem(test_lengths(), causal)), "");
  EXPECT_EQ(why_none(packed_problem(square_test_lengths(), causal, 0.25f)), "");
  EXPECT_EQ(why_none(packed_problem({{9, 5}, {2, 2}}, causal, 0.25f)), "");
  EXPECT_EQ(why_none(packed_problem(test_lengths(), causal, 0.25f)),
            "dropout under a mask where a sequence has more keys than rows that see any");
  EXPECT_EQ(why_none(packed_problem(test_lengths(), MaskSpec::prefix(2))), "the mask prefix:2");
  EXPECT_EQ(why_none(packed_problem(test_lengths(), full), 91001),
            "packed sequences before version 9.10.2");
  EXPECT_EQ(why_none(packed_problem({{2048, 2048}}, MaskSpec::band(7, 2)), 91400),
            "bands of more than 1024 keys in version 9.14.0");
}

/// Empty if there is a graph.
std::string why_none(const MaskSpec& mask, int seqlen_q, int seqlen_k, float dropout_p = 0.0f,
                     std::size_t version = kTestVersion) {
  Problem problem{1, 1, seqlen_q, seqlen_k, 64, mask, dropout_p};
  return why_no_graph(problem, version).value_or("");
}

TEST(CudnnSupportedProblems, LeavesOutWhatCudnnDoesNotSupport) {
  const MaskSpec causal = MaskSpec::causal(), window = MaskSpec::window(3);
  for (const MaskSpec& mask : {causal, window}) {
    EXPECT_EQ(why_none(mask, 9, 5), "rows without a visible key");
    EXPECT_EQ(why_none(mask, 5, 9, 0.25f), "dropout under a mask of unequal lengths");
    EXPECT_EQ(why_none(mask, 5, 9), "");
    EXPECT_EQ(why_none(mask, 9, 9, 0.25f), "");
  }
  EXPECT_EQ(why_none(MaskSpec::full(), 9, 5, 0.25f), "");
  EXPECT_EQ(why_none(MaskSpec::prefix(3), 9, 9), "the mask prefix:3");
}

TEST(CudnnSupportedProblems, LeavesOutHeadDimsThatAreNoMultipleOf8) {
  EXPECT_EQ(why_no_graph({.head_dim = 100}, kTestVersion).value_or(""),
            "head_dim 100 (multiples of 8 are supported)");
  EXPECT_FALSE(why_no_graph({.head_dim = 80}, kTestVersion));
}

TEST(CudnnSupportedProblems, LeavesOutBandsOfVersionsWithoutThem) {
  const MaskSpec band = MaskSpec::band(7, 2);
  EXPECT_EQ(why_none(MaskSpec::causal(), 9, 9, 0.0f, 90100), "");
  EXPECT_EQ(why_none(MaskSpec::window(3), 9, 9, 0.0f, 91001),
            "windows and bands before version 9.10.2");
  EXPECT_EQ(why_none(band, 9, 9, 0.0f, 91002), "");
  EXPECT_EQ(why_none(band, 2048, 2048, 0.0f, 91400),
            "bands of more than 1024 keys in version 9.14.0");
  EXPECT_EQ(why_none(MaskSpec::window(3), 2048, 2048, 0.0f, 91400), "");
}

}  // namespace
}  // namespace sparkbench::cudnn
