#include "kernels/tile/lazy_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"
#include "kernels/tile/probability_scale.h"
#include "kernels/tile/test_layout.h"

namespace sparkbench {
namespace {

using LazyLayout = M16n8k16Layout;
using Rows = LazyRows<LazyLayout, 1, PlainProbabilities>;

constexpr int kTiles = 6, kLazySteps = 2, kTileKeys = kLazySteps * LazyLayout::kStepKeys,
              kRows = 16;
constexpr float kLazyScaleLog2 = 0.7f;

/// How scores change from tile to tile: they fall, rise within the slack, exceed it once in three
/// tiles, exceed it in each, or exist only from the third tile on.
enum class Trend { kFalling, kRisingLittle, kRising, kRisingFar, kLate };
constexpr int kTrends = 5;

float score_of(Trend trend, int row, int key) {
  const int tile = key / kTileKeys;
  const float of_key = static_cast<float>((7 * row + 13 * key) % 11) - 4.0f;
  switch (trend) {
    case Trend::kFalling:
      return of_key - 12.0f * static_cast<float>(tile);
    case Trend::kRisingLittle:
      return of_key + 0.5f * static_cast<float>(tile);
    case Trend::kRising:  // 3.5 in the exponent of 2, for a slack of 8
      return of_key + 5.0f * static_cast<float>(tile);
    case Trend::kRisingFar:
      return of_key + 30.0f * static_cast<float>(tile);
    default:
      return tile < 2 ? -INFINITY : of_key - 100.0f;
  }
}

struct OfRow {
  float m = 0.0f, row_sum = 0.0f, largest_p = 0.0f;
  int looks = 0, rises = 0;  // after the first tile: of the warp, and of its first row
};

/// The result of each row over all tiles, with the scores that trend_of() chooses. An output of 1
/// for each key goes along, so that its rescaled sum is the row's.
template <class TrendOf>
std::vector<OfRow> walk(TrendOf trend_of) {
  std::vector<OfRow> result(kRows);
  run({}, [&](EmulatedMachine& machine) {
    Rows rows;
    float o[2] = {}, largest_p[2] = {};
    int looks = 0, rises = 0;
    for (int tile = 0; tile < kTiles; ++tile) {
      typename LazyLayout::Fragment score[1][kLazySteps];
      for (int step = 0; step < kLazySteps; ++step) {
        for (int i = 0; i < LazyLayout::kElements; ++i) {
          const int row = row_of<LazyLayout>(machine.lane(), i);
          score[0][step].element[i] = score_of(
              trend_of(row), row, kTileKeys * tile + key_of<LazyLayout>(machine.lane(), step, i));
        }
      }
      Rows::Values largest;
      LazyLayout::largest_from_zero(machine, score[0], largest.of[0]);
      if (rows.may_rise(machine, largest, kLazyScaleLog2)) {
        LazyLayout::largest(machine, score[0], largest.of[0]);
        const Rows::Values rescale = rows.raise(machine, largest, kLazyScaleLog2);
        for (int slot = 0; slot < 2; ++slot) o[slot] *= rescale.of[0][slot];
        looks += tile > 0;
        rises += tile > 0 && rescale.of[0][0] != 1.0f;
      }
      auto softmax = rows.exponentials(machine, kLazyScaleLog2);
      float p[1][kLazySteps][LazyLayout::kElements];
      softmax.exponentials(machine, score, 0, kLazySteps, kLazyScaleLog2, p);
      rows.add(machine, softmax.sum);
      for (int step = 0; step < kLazySteps; ++step) {
        for (int i = 0; i < LazyLayout::kElements; ++i) {
          o[i / 2] += p[0][step][i];
          largest_p[i / 2] = std::max(largest_p[i / 2], p[0][step][i]);
        }
      }
    }
    const auto finished = rows.finished(machine, 0);
    for (int slot = 0; slot < 2; ++slot) {
      const auto sum = [](float a, float b) { return a + b; };
      const float of_outputs = LazyLayout::reduce_row(machine, o[slot], sum);
      EXPECT_NEAR(of_outputs, finished.row_sum(slot), 1e-5f * of_outputs);
      const float p = LazyLayout::reduce_row(machine, largest_p[slot],
                                             [](float a, float b) { return std::max(a, b); });
      result[LazyLayout::row(machine.lane(), slot)] = {finished.m[slot], finished.row_sum(slot), p,
                                                       looks, rises};
    }
  });
  return result;
}

void expect_exact(Trend trend, int row, const OfRow& got) {
  double largest = -INFINITY, l = 0.0;
  for (int key = 0; key < kTiles * kTileKeys; ++key) {
    largest = std::fmax(largest, static_cast<double>(score_of(trend, row, key)));
  }
  for (int key = 0; key < kTiles * kTileKeys; ++key) {
    l += std::exp2((score_of(trend, row, key) - largest) * kLazyScaleLog2);
  }
  const double log2_sum = got.m * kLazyScaleLog2 + std::log2(got.row_sum);
  EXPECT_NEAR(log2_sum, largest * kLazyScaleLog2 + std::log2(l), 2e-5) << row;
  EXPECT_LE(got.m, largest);
  EXPECT_LE((largest - got.m) * kLazyScaleLog2, Rows::kSlackLog2);
  EXPECT_LE(got.largest_p, std::exp2(Rows::kSlackLog2));
}

TEST(LazyRows, SumEachRowExactlyHoweverItsScoresGoOn) {
  const auto trend_of = [](int row) { return static_cast<Trend>(row % kTrends); };
  const std::vector<OfRow> got = walk(trend_of);
  for (int row = 0; row < kRows; ++row) expect_exact(trend_of(row), row, got[row]);
}

TEST(LazyRows, RiseOnlyWhereScoresExceedThemByFar) {
  const auto of_trend = [](Trend trend) { return walk([=](int) { return trend; })[0]; };
  for (const Trend trend : {Trend::kFalling, Trend::kRisingLittle}) {
    EXPECT_EQ(of_trend(trend).looks, 0);
  }
  EXPECT_EQ(of_trend(Trend::kRising).rises, 1);
  EXPECT_EQ(of_trend(Trend::kRising).looks, 1);
  EXPECT_EQ(of_trend(Trend::kRisingFar).rises, kTiles - 1);
  // Scores far below 0 are checked in each tile.
  EXPECT_EQ(of_trend(Trend::kLate).looks, kTiles - 1);
  EXPECT_EQ(of_trend(Trend::kLate).rises, 1);
}

/// P of 2^8 is the largest that is allowed.
TEST(LazyRows, AllowPOfTheirSlackAndNoMore) {
  run({}, [&](EmulatedMachine& machine) {
    constexpr float kOf2 = 1.0f, kFirst = 3.0f;  // scale_log2, and the first score
    Rows rows;
    Rows::Values largest;
    for (float& of_row : largest.of[0]) of_row = kFirst;
    EXPECT_TRUE(rows.may_rise(machine, largest, kOf2));
    EXPECT_EQ(rows.raise(machine, largest, kOf2).of[0][0], 0.0f);
    const float most = kFirst + Rows::kSlackLog2;
    for (float& of_row : largest.of[0]) of_row = most;
    EXPECT_FALSE(rows.may_rise(machine, largest, kOf2));
    EXPECT_EQ(rows.raise(machine, largest, kOf2).of[0][1], 1.0f);
    EXPECT_EQ(rows.finished(machine, 0).m[1], kFirst);
    largest.of[0][1] = std::nextafter(most, INFINITY);
    EXPECT_TRUE(rows.may_rise(machine, largest, kOf2));
    const Rows::Values rescale = rows.raise(machine, largest, kOf2);
    EXPECT_EQ(rescale.of[0][0], 1.0f);
    EXPECT_NEAR(rescale.of[0][1], 0x1p-8f, 0x1p-26f);
    EXPECT_EQ(rows.finished(machine, 0).m[1], largest.of[0][1]);
  });
}

TEST(LazyRows, AreTheSameWhateverOtherRowsSee) {
  const std::vector<OfRow> among_others =
      walk([](int row) { return row == 6 ? Trend::kRisingLittle : Trend::kRisingFar; });
  const std::vector<OfRow> among_likes = walk([](int) { return Trend::kRisingLittle; });
  EXPECT_EQ(among_others[6].m, among_likes[6].m);
  EXPECT_EQ(among_others[6].row_sum, among_likes[6].row_sum);
}

/// No key was seen: zeros, as in LaneRows.
TEST(LazyRows, OfNoKeyHaveNoSum) {
  run({}, [&](EmulatedMachine& machine) {
    Rows rows;
    const typename LazyLayout::Fragment hidden[1][1] = {
        {{{-INFINITY, -INFINITY, -INFINITY, -INFINITY}}}};
    Rows::Values largest;
    LazyLayout::largest_from_zero(machine, hidden[0], largest.of[0]);
    EXPECT_TRUE(rows.may_rise(machine, largest, kLazyScaleLog2));
    LazyLayout::largest(machine, hidden[0], largest.of[0]);
    const Rows::Values rescale = rows.raise(machine, largest, kLazyScaleLog2);
    auto softmax = rows.exponentials(machine, kLazyScaleLog2);
    float p[1][1][LazyLayout::kElements];
    softmax.exponentials(machine, hidden, 0, 1, kLazyScaleLog2, p);
    rows.add(machine, softmax.sum);
    for (int slot = 0; slot < 2; ++slot) {
      EXPECT_EQ(rescale.of[0][slot], 1.0f);
      EXPECT_EQ(p[0][0][2 * slot], 0.0f);
      EXPECT_EQ(rows.finished(machine, 0).m[slot], kNoScore);
      EXPECT_EQ(rows.finished(machine, 0).row_sum(slot), 0.0f);
    }
  });
}

}  // namespace
}  // namespace sparkbench
