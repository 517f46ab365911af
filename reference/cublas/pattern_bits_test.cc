#include "reference/cublas/pattern_bits.h"

#include <gtest/gtest.h>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

TEST(PatternBits, AreAByteForEachChunkOfEachUnionsRows) {
  Problem problem{.heads = 3, .seqlen_q = 5, .seqlen_k = 70};
  problem.sparse = make_sparse_mask("window:9/strided:3", 5, 70);
  EXPECT_EQ(bits_row_bytes(problem), 16u);
  const std::vector<std::uint64_t> words = pattern_words(problem);
  ASSERT_EQ(words.size() * sizeof(std::uint64_t), bits_bytes(problem));
  const auto* bytes = reinterpret_cast<const unsigned char*>(words.data());
  for (int i = 0; i < union_count(problem); ++i) {
    for (int row = 0; row < 5; ++row) {
      const unsigned char* of_row = bytes + (i * 5 + row) * 16;
      for (int key = 0; key < 128; ++key) {
        const bool is_set = (of_row[key / 8] >> key % 8 & 1) != 0;
        ASSERT_EQ(is_set, key < 70 && sees(problem.sparse->pattern, i, row, key));
      }
    }
  }
}

TEST(PatternBits, OfNoPatternAreNone) {
  const Problem problem{.batch = 2, .heads = 3, .seqlen_q = 5, .seqlen_k = 5};
  EXPECT_EQ(bits_bytes(problem), 0u);
  EXPECT_EQ(visible_pairs_of_heads(problem), 2u * 3 * 25);
}

TEST(PatternBits, PairsAreThoseOfEachHead) {
  Problem problem{.batch = 2, .heads = 3, .seqlen_q = 5, .seqlen_k = 5};
  problem.sparse = make_sparse_mask("causal-full/chunk:1", 5, 5);
  EXPECT_EQ(visible_pairs_of_heads(problem), 2u * (15 + 5 + 15));
}

}  // namespace
}  // namespace sparkbench
