#include "reference/tensors/visible_runs.h"

#include <gtest/gtest.h>

#include "kernels/mask/test_masks.h"
#include "reference/test_pattern_masks.h"

namespace sparkbench {
namespace {

/// Checks that the runs are ascending, separate and not empty, and contain exactly what `sees`
/// says.
void expect_runs(const VisibleRuns& runs, int count, const std::function<bool(int)>& sees,
                 const std::string& what) {
  int end = -1;
  std::vector<char> visible(static_cast<std::size_t>(count));
  for (const Range& run : runs) {
    ASSERT_GT(run.begin, end) << what;
    ASSERT_LT(run.begin, run.end) << what;
    end = run.end;
    for (int i = run.begin; i < run.end; ++i) visible[static_cast<std::size_t>(i)] = 1;
  }
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(visible[static_cast<std::size_t>(i)] != 0, sees(i)) << what << ", " << i;
  }
}

TEST(VisibleRuns, AreTheWordsOfAPattern) {
  for (const WordedPattern& pattern : worded_patterns()) {
    for (const int seqlen_q : {40, 23}) {
      const Problem problem =
          with_pattern({.heads = 3, .seqlen_q = seqlen_q, .seqlen_k = 40}, pattern.spec);
      const Visibility visibility(problem);
      const int to_p = 40 - seqlen_q;
      for (int head = 0; head < 3; ++head) {
        for (int row = 0; row < seqlen_q; ++row) {
          expect_runs(
              visibility.of(QueryRow{0, head, row}), 40,
              [&](int k) { return pattern.sees(head, row + to_p, k); }, pattern.spec);
        }
        for (int key = 0; key < 40; ++key) {
          expect_runs(
              visibility.of(KeyRow{0, 0, key}, head), seqlen_q,
              [&](int q) { return pattern.sees(head, q + to_p, key); }, pattern.spec);
        }
      }
    }
  }
}

TEST(VisibleRuns, HullIsFromTheFirstToTheLastThatAnyRowSees) {
  const Range hull = hull_of(std::vector<VisibleRuns>{{{7, 9}, {12, 13}}, {}, {{3, 4}}});
  EXPECT_EQ(hull.begin, 3);
  EXPECT_EQ(hull.end, 13);
  EXPECT_TRUE(hull_of(std::vector<VisibleRuns>{{}, {}}).is_empty());
  EXPECT_TRUE(hull_of({}).is_empty());
}

TEST(VisibleRuns, OfAMaskOfOneRunAreThatRun) {
  for (const MaskSpec& mask : kTestMasks) {
    const Problem problem{.seqlen_q = 9, .seqlen_k = 13, .mask = mask};
    const Visibility visibility(problem);
    for (int row = 0; row < 9; ++row) {
      const VisibleRuns runs = visibility.of(QueryRow{0, 0, row});
      EXPECT_LE(runs.size(), 1u);
      expect_runs(
          runs, 13, [&](int k) { return sees_by_definition(mask, 9, 13, row, k); }, name_of(mask));
    }
  }
}

TEST(VisibleRuns, CrossTheWordsOfAPattern) {
  const Problem problem = with_pattern({.seqlen_q = 200, .seqlen_k = 200}, "chunk:150+window:3");
  const VisibleRuns runs = Visibility(problem).of(QueryRow{0, 0, 10});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].begin, 0);
  EXPECT_EQ(runs[0].end, 150);
  EXPECT_EQ(size_of(runs), 150u);
}

TEST(VisibleRuns, PartsLieSideBySide) {
  const VisibleRuns runs = {{2, 4}, {7, 8}};
  std::vector<int> values(3);
  for_each_part(runs, std::span(values), [](const Range& run, std::span<int> part) {
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = run.begin + static_cast<int>(i);
  });
  EXPECT_EQ(values, (std::vector<int>{2, 3, 7}));
}

}  // namespace
}  // namespace sparkbench
