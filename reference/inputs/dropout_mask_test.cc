#include "reference/inputs/dropout_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/base/philox.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/strided/pass_dropout.h"

namespace sparkbench {
namespace {

constexpr std::size_t kRows = 512;
constexpr std::size_t kColumns = 1024;

using Mask = std::vector<std::uint8_t>;

/// [kRows, kColumns] of one head.
Mask mask_of_head(float p, std::uint64_t seed, int head) {
  Problem problem;
  problem.dropout_p = p;
  problem.seed = seed;
  Mask mask(kRows * kColumns);
  for (std::size_t row = 0; row < kRows; ++row) {
    fill_keep_mask(problem, QueryRow{0, head, static_cast<int>(row)}, 0,
                   std::span(mask).subspan(row * kColumns, kColumns));
  }
  return mask;
}

/// The correlation of mask[i] and other[i + shift], in standard deviations of that of independent
/// masks: mean 0, standard deviation 1.
double correlation_sigmas(const Mask& mask, const Mask& other, std::size_t shift, float p) {
  const double mean = 1.0 - make_dropout(p, 0).applied_p();
  const std::size_t count = mask.size() - shift;
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += (mask[i] - mean) * (other[i + shift] - mean);
  return sum / (mean * (1.0 - mean) * std::sqrt(static_cast<double>(count)));
}

void expect_words(const PhiloxBlock& got, const PhiloxBlock& want) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], want.word[i]) << "word " << i;
}

// From the file kat_vectors of the Random123 distribution, lines "philox4x32 10".
TEST(Philox, GivesThePublishedVectorsForTenRounds) {
  expect_words(philox4x32<10>({{0, 0, 0, 0}}, PhiloxKey{0, 0}),
               {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  const std::uint32_t ones = 0xffffffff;
  expect_words(philox4x32<10>({{ones, ones, ones, ones}}, PhiloxKey{ones, ones}),
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_words(philox4x32<10>({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                              PhiloxKey{0xa4093822, 0x299f31d0}),
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(DropoutMask, FilledRowsAreWhatSingleElementsSay) {
  Problem problem;
  problem.heads = 3;
  problem.dropout_p = 0.3f;
  problem.seed = 17;
  Mask keep(77);  // not a whole group of 64
  fill_keep_mask(problem, QueryRow{1, 2, 9}, 0, keep);
  for (std::uint32_t column = 0; column < keep.size(); ++column) {
    EXPECT_EQ(keep[column] != 0, dropout_keeps(problem.dropout(), 1 * 3 + 2, 9, column));
  }
}

TEST(DropoutMask, OfPassesIsWhatTheirPlacesSay) {
  for (const char* const spec : {"window:20+causal-strided:8", "strided:3", "dilated:9:4"}) {
    Problem problem{.batch = 2, .heads = 3, .seqlen_q = 390, .seqlen_k = 390, .dropout_p = 0.3f};
    problem.sparse = make_sparse_mask(spec, 390, 390);
    const DropoutViews views = dropout_views_of(problem);
    ASSERT_TRUE(has_mask_passes(problem)) << spec;
    const auto keeps = [&](int row, std::size_t column) {
      return dropout_keeps(problem.dropout(), views.place(1, 2, row, static_cast<int>(column)));
    };
    for (const int row : {0, 9, 201, 389}) {
      Mask keep(390);
      for (const int first : {0, 1, 37}) {
        const auto part = std::span(keep).subspan(static_cast<std::size_t>(first));
        fill_keep_mask(problem, QueryRow{1, 2, row}, first, part);
        for (std::size_t i = 0; i < part.size(); ++i) {
          ASSERT_EQ(part[i] != 0, keeps(row, static_cast<std::size_t>(first) + i))
              << row << " " << i;
        }
      }
      // For a key, the rows from 5 on.
      const auto column = std::span(keep).first(300);
      fill_keep_mask(problem, KeyRow{1, 2, row}, QueryRow{1, 2, 5}, column);
      for (std::size_t i = 0; i < column.size(); ++i) {
        ASSERT_EQ(column[i] != 0, keeps(5 + static_cast<int>(i), static_cast<std::size_t>(row)));
      }
    }
  }
}

TEST(DropoutMask, KeepsAllAtProbabilityZero) {
  const Mask mask = mask_of_head(0.0f, 3, 0);
  for (const std::uint8_t keep : mask) ASSERT_EQ(keep, 1);
}

TEST(DropoutMask, KeepsTheExpectedFractionWithinFiveSigma) {
  for (const float p : {0.01f, 0.1f, 0.17f, 0.5f, 0.9f}) {
    Problem problem;
    problem.seqlen_q = kRows;
    problem.seqlen_k = kColumns;
    problem.dropout_p = p;
    problem.seed = 2024;
    const double applied = problem.dropout().applied_p();
    EXPECT_LE(std::abs(applied - p), 1.0 / 512 + 1e-6);
    const double sigma =
        std::sqrt(applied * (1.0 - applied) / static_cast<double>(kRows * kColumns));
    const double kept = summarize_dropout_mask(problem, all_rows(problem)).kept_fraction;
    EXPECT_LE(std::abs(kept - (1.0 - applied)), 5.0 * sigma) << "p = " << p;
  }
}

TEST(DropoutMask, ColumnsAndRowsAreUncorrelatedWithinFiveSigma) {
  for (const float p : {0.1f, 0.5f}) {
    const Mask mask = mask_of_head(p, 1, 0);
    // Neighbours: in a pair, in a block, in adjacent blocks, and the same in the rows below.
    for (const std::size_t shift :
         {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{64}, kColumns, 2 * kColumns,
          kColumns + 1, 8 * kColumns, 8 * kColumns + 8, 16 * kColumns}) {
      EXPECT_LE(std::abs(correlation_sigmas(mask, mask, shift, p)), 5.0) << "shift " << shift;
    }
  }
}

TEST(DropoutMask, HeadsAreUncorrelatedWithinFiveSigma) {
  const Mask mask = mask_of_head(0.1f, 1, 0);
  for (const int head : {1, 2, 64, 1 << 20}) {
    EXPECT_LE(std::abs(correlation_sigmas(mask, mask_of_head(0.1f, 1, head), 0, 0.1f)), 5.0);
  }
}

TEST(DropoutMask, SeedsAreUncorrelatedWithinFiveSigma) {
  const Mask mask = mask_of_head(0.1f, 0, 0);
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 32}) {
    EXPECT_LE(std::abs(correlation_sigmas(mask, mask_of_head(0.1f, seed, 0), 0, 0.1f)), 5.0);
  }
}

TEST(DropoutMask, CorrelationIsFoundWhereThereIsOne) {
  const Mask mask = mask_of_head(0.1f, 1, 0);
  EXPECT_GE(correlation_sigmas(mask, mask, 0, 0.1f), 500.0);
}

TEST(DropoutMaskHash, IsFnv1aOfTheMaskBits) {
  // Nine kept columns are the bytes ff 01.
  Problem problem;
  problem.seqlen_k = 9;
  EXPECT_EQ(summarize_dropout_mask(problem, all_rows(problem)).hash, 0x0a99a707b6f60d9du);
}

TEST(DropoutMaskHash, DependsOnSeedProbabilityAndRows) {
  Problem problem;
  problem.seqlen_q = problem.seqlen_k = 64;
  problem.dropout_p = 0.1f;
  const auto rows = all_rows(problem);
  const std::uint64_t hash = summarize_dropout_mask(problem, rows).hash;
  EXPECT_EQ(summarize_dropout_mask(problem, rows).hash, hash);
  EXPECT_NE(summarize_dropout_mask(problem, std::span(rows).first(63)).hash, hash);
  problem.seed = 1;
  EXPECT_NE(summarize_dropout_mask(problem, rows).hash, hash);
  problem.seed = 0;
  problem.dropout_p = 0.2f;
  EXPECT_NE(summarize_dropout_mask(problem, rows).hash, hash);
}

TEST(FillKeepMask, OfAQueryBeginsAtAnyKey) {
  const Problem problem{2, 3, 10, 300, 64, MaskSpec::full(), /*dropout_p=*/0.3f, 0.0f, /*seed=*/5};
  std::vector<std::uint8_t> whole(300);
  fill_keep_mask(problem, QueryRow{1, 2, 7}, 0, whole);
  for (const std::size_t first : {1u, 63u, 64u, 65u, 130u, 299u}) {
    for (const std::size_t count : {0u, 1u, 64u, 100u}) {
      std::vector<std::uint8_t> part(std::min<std::size_t>(count, 300 - first));
      fill_keep_mask(problem, QueryRow{1, 2, 7}, static_cast<int>(first), part);
      for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[first + i]);
    }
  }
}

TEST(FillKeepMask, OfAKeyIsAColumn) {
  Problem problem{2, 3, 100, 90, 64, MaskSpec::full(), /*dropout_p=*/0.3f, 0.0f, /*seed=*/5};
  std::vector<std::uint8_t> row(90), column(80);
  for (const float dropout_p : {0.0f, 0.3f}) {
    problem.dropout_p = dropout_p;
    fill_keep_mask(problem, KeyRow{1, 2, 71}, QueryRow{1, 2, 20}, column);
    for (int i = 0; i < 80; ++i) {
      fill_keep_mask(problem, QueryRow{1, 2, 20 + i}, 0, row);
      ASSERT_EQ(column[static_cast<std::size_t>(i)], row[71]);
    }
  }
}

}  // namespace
}  // namespace sparkbench
