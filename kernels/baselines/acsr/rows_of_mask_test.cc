#include "kernels/baselines/acsr/rows_of_mask.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench::acsr {
namespace {

Problem problem_of(const char* spec, int seqlen_q, int seqlen_k) {
  Problem problem{.seqlen_q = seqlen_q, .seqlen_k = seqlen_k};
  problem.sparse = make_sparse_mask(spec, seqlen_q, seqlen_k);
  return problem;
}

/// By hand, of six tokens: residues 0, 1 and 2, of two rows each.
TEST(AcsrRows, OfAStrideAreByResidues) {
  const MaskRows rows(problem_of("causal-strided:3", 6, 6));
  const int want[6][4] = {{0, 0, 1, 0}, {3, 0, 2, 2}, {1, 0, 1, 4},
                          {4, 0, 2, 6}, {2, 0, 1, 8}, {5, 0, 2, 10}};
  ASSERT_EQ(rows.rows().size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const AffineRow& row = rows.rows()[i];
    EXPECT_EQ(row.row, want[i][0]);
    EXPECT_EQ(row.first, want[i][1]);
    EXPECT_EQ(row.end, want[i][2]);
    EXPECT_EQ(row.first_chunk, want[i][3]);
  }
  ASSERT_EQ(rows.blocks().size(), 3u);
  for (int residue = 0; residue < 3; ++residue) {
    const RowBlock& block = rows.blocks()[static_cast<std::size_t>(residue)];
    EXPECT_EQ(block.residue, residue);
    EXPECT_EQ(block.stride, 3);
    EXPECT_EQ(block.first_row, 2 * residue);
    EXPECT_EQ(block.rows, 2);
    EXPECT_EQ(block.begin, 0);
    EXPECT_EQ(block.end, 2);
  }
  EXPECT_EQ(rows.chunks_of_turn(), 12u);
}

TEST(AcsrRows, HaveWholeSectors) {
  const MaskRows rows(problem_of("band:2:7", 40, 40));
  // Keys 5 to 14 of row 7: places 0 to 15 are two chunks.
  EXPECT_EQ(rows.rows()[7].chunks(), 2);
  // Keys 14 to 23 of row 16: places 0 to 31.
  EXPECT_EQ(rows.rows()[16].begin_chunk(), 0);
  EXPECT_EQ(rows.rows()[16].chunks(), 4);
  std::uint64_t chunks = 0;
  for (const AffineRow& row : rows.rows()) {
    EXPECT_EQ(static_cast<std::uint64_t>(row.first_chunk), chunks);
    chunks += static_cast<std::uint64_t>(row.chunks());
    EXPECT_LE(row.chunks(), rows.most_chunks());
  }
  EXPECT_EQ(rows.chunks_of_turn(), chunks);
  EXPECT_EQ(rows.most_chunks(), 4);
}

/// Each pair once, in a block that goes over it.
TEST(AcsrRows, ShowWhatThePatternShows) {
  for (const char* const spec : {"full", "causal", "window:40", "band:20:3", "blocked:64",
                                 "chunk:50", "strided:1", "strided:7", "strided:200",
                                 "causal-strided:16", "dilated:5:4", "documents:30", "prefix:9"}) {
    SCOPED_TRACE(spec);
    const Problem problem = problem_of(spec, 300, 300);
    const MaskRows rows(problem);
    std::set<std::pair<int, int>> seen;
    for (const RowBlock& block : rows.blocks()) {
      EXPECT_LE(block.rows, kBlockRows);
      EXPECT_EQ(block.begin % kTileKeys, 0);
      for (int i = block.first_row; i < block.first_row + block.rows; ++i) {
        const AffineRow& row = rows.rows()[static_cast<std::size_t>(i)];
        for (int place = row.first; place < row.end; ++place) {
          EXPECT_TRUE(place >= block.begin && place < block.end);
          EXPECT_TRUE(seen.insert({row.row, block.residue + block.stride * place}).second);
        }
      }
    }
    std::size_t want = 0;
    for (int row = 0; row < problem.seqlen_q; ++row) {
      for (int key = 0; key < problem.seqlen_k; ++key) {
        if (!sees(problem.sparse->pattern, 0, row, key)) continue;
        ++want;
        EXPECT_TRUE(seen.contains({row, key})) << row << ", " << key;
      }
    }
    EXPECT_EQ(seen.size(), want);
  }
}

TEST(AcsrRows, OfHeadsByTurnsFollowEachOther) {
  const MaskRows rows(problem_of("window:8/full", 16, 16));
  EXPECT_EQ(rows.unions(), 2);
  const std::uint64_t of_full = 16 * 2;
  const std::uint64_t of_window = rows.chunks_of_turn() - of_full;
  EXPECT_EQ(rows.rows()[16].first_chunk, static_cast<int>(of_window));
  EXPECT_EQ(rows.chunks_of_heads(1), of_window);
  EXPECT_EQ(rows.chunks_of_heads(5), 3 * of_window + 2 * of_full);
}

std::string why_refused(const char* spec) {
  try {
    const MaskRows rows(problem_of(spec, 64, 64));
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(AcsrRows, RefuseWhatIsNoProgression) {
  EXPECT_EQ(why_refused("sink:2+window:4"), "the keys of row 6 are in no arithmetic progression");
  EXPECT_NE(why_refused("longformer:4:2"), "");
  EXPECT_NE(why_refused("nd:8x8:3x3"), "");
}

}  // namespace
}  // namespace sparkbench::acsr
