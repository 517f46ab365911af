#include "reference/error_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sparkbench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ErrorMetrics metrics_of(const std::vector<float>& got, const std::vector<double>& want) {
  return error_metrics(got, want);
}

TEST(ErrorMetrics, OfFourElementsByHand) {
  // errors 0.5 0 1 0; |want| 1 2 4 0; squares of errors 0.25 + 1, of want 1 + 4 + 16.
  const ErrorMetrics metrics = metrics_of({1.5f, 2.0f, -5.0f, 0.0f}, {1.0, 2.0, -4.0, 0.0});
  EXPECT_EQ(metrics.checked_elements, 4u);
  EXPECT_DOUBLE_EQ(metrics.max_abs, 1.0);
  EXPECT_DOUBLE_EQ(metrics.mean_abs, 1.5 / 4);
  EXPECT_DOUBLE_EQ(metrics.rmse, std::sqrt(1.25 / 4));
  EXPECT_DOUBLE_EQ(metrics.rel_l1, 1.5 / 7);
  EXPECT_DOUBLE_EQ(metrics.rel_l2, std::sqrt(1.25 / 21));
  EXPECT_DOUBLE_EQ(metrics.mean_rel, (0.5 + 0.25) / 4);
  EXPECT_DOUBLE_EQ(metrics.max_rel, 0.5);
  // got.want = 1.5 + 4 + 20 = 25.5; got^2 = 2.25 + 4 + 25 = 31.25; want^2 = 21.
  EXPECT_DOUBLE_EQ(metrics.cosine_diff, 1.0 - 2.0 * 25.5 / 52.25);
  EXPECT_EQ(metrics.mismatches, 2u);
  EXPECT_EQ(metrics.nonfinite, 0u);
  EXPECT_EQ(metrics.worst_index, 2u);
  EXPECT_EQ(metrics.worst_got, -5.0);
  EXPECT_EQ(metrics.worst_want, -4.0);
  EXPECT_EQ(metrics.want_max_abs, 4.0);
}

/// Two rows of two elements; the second row represents three.
TEST(ErrorMetrics, WeighSumsByRows) {
  const std::vector<float> got = {1.5f, 2.0f, -5.0f, 0.0f};
  const std::vector<double> want = {1.0, 2.0, -4.0, 0.0}, weights = {1, 3};
  const ErrorMetrics metrics = error_metrics(got, want, {2, weights});
  EXPECT_DOUBLE_EQ(metrics.rel_l1, (0.5 + 3 * 1) / (3 + 3 * 4));
  EXPECT_DOUBLE_EQ(metrics.rel_l2, std::sqrt((0.25 + 3 * 1) / (5 + 3 * 16.0)));
  EXPECT_DOUBLE_EQ(metrics.mean_abs, (0.5 + 3 * 1) / 8);
  EXPECT_DOUBLE_EQ(metrics.rmse, std::sqrt((0.25 + 3 * 1) / 8));
  EXPECT_DOUBLE_EQ(metrics.mean_rel, (0.5 + 3 * 0.25) / 8);
  EXPECT_DOUBLE_EQ(metrics.want_rms, std::sqrt((5 + 3 * 16.0) / 8));
  EXPECT_DOUBLE_EQ(metrics.cosine_diff, (0.25 + 3 * 1) / (6.25 + 3 * 25 + 5 + 3 * 16));
  // Counts and maxima cover the elements that are present.
  EXPECT_EQ(metrics.checked_elements, 4u);
  EXPECT_EQ(metrics.mismatches, 2u);
  EXPECT_EQ(metrics.max_abs, 1.0);
  EXPECT_EQ(metrics.worst_index, 2u);
}

TEST(ErrorMetrics, RowsWithoutWeightAreCheckedOnly) {
  const std::vector<float> got = {1.5f, 8.0f};
  const std::vector<double> want = {1.0, 4.0}, weights = {1, 0};
  const ErrorMetrics metrics = error_metrics(got, want, {2, weights});
  EXPECT_DOUBLE_EQ(metrics.rel_l1, 0.5);
  EXPECT_EQ(metrics.max_abs, 4.0);
  EXPECT_EQ(metrics.worst_row, 1u);
}

TEST(ErrorMetrics, NameTheWorstRow) {
  const std::vector<float> got = {1.5f, 2.0f, -5.0f, 0.0f, 0.5f, 0.0f};
  const ErrorMetrics metrics =
      error_metrics(got, std::vector<double>{1.0, 2.0, -4.0, 0.0, 0.0, 0.0}, {3});
  EXPECT_EQ(metrics.worst_row_rel_l1, 1.0 / 4);  // the other row has 0.5 / 3
  EXPECT_EQ(metrics.worst_row, 1u);
  // The third row's reference is 0, so it has no relative error.
  const std::vector<float> zero = {0.5f, 0.0f};
  EXPECT_FALSE(
      error_metrics(zero, std::vector<double>{0.0, 0.0}, {1}).worst_row_rel_l1.has_value());
  // The same holds for an output that is not finite, and for unknown rows.
  const std::vector<float> broken = {kNan, 1.0f};
  EXPECT_FALSE(
      error_metrics(broken, std::vector<double>{1.0, 1.0}, {1}).worst_row_rel_l1.has_value());
  EXPECT_FALSE(metrics_of({1.5f}, {1.0}).worst_row_rel_l1.has_value());
}

TEST(ErrorMetrics, RefuseWeightsOfOtherRows) {
  const std::vector<float> got = {1, 2, 3};
  const std::vector<double> want = {1, 2, 3}, weights = {1, 1};
  EXPECT_THROW(error_metrics(got, want, {3, weights}), std::invalid_argument);
  EXPECT_THROW(error_metrics(got, want, {2, weights}), std::invalid_argument);
}

TEST(ErrorMetrics, RelativeErrorsHaveAFloorNearZero) {
  const ErrorMetrics metrics = metrics_of({0.001f}, {0.0});
  EXPECT_NEAR(metrics.max_rel, 0.001 / metrics.rel_floor, 1e-6);
}

TEST(ErrorMetrics, AreNoneOrInfiniteBesideAZeroReference) {
  const ErrorMetrics matched = metrics_of({0.0f, 0.0f}, {0.0, 0.0});
  EXPECT_EQ(matched.rel_l1, 0.0);
  EXPECT_EQ(matched.rel_l2, 0.0);
  EXPECT_EQ(matched.cosine_diff, 0.0);
  const ErrorMetrics missed = metrics_of({0.0f, 0.5f}, {0.0, 0.0});
  EXPECT_EQ(missed.rel_l1, kInfinity);
  EXPECT_EQ(missed.rel_l2, kInfinity);
  EXPECT_EQ(missed.max_abs, 0.5);
}

std::vector<double> values_of(const ErrorMetrics& metrics) {
  return {metrics.max_abs, metrics.mean_abs, metrics.rmse,    metrics.rel_l1,
          metrics.rel_l2,  metrics.mean_rel, metrics.max_rel, metrics.cosine_diff};
}

TEST(ErrorMetrics, AreNoneOfWhatIsNotFinite) {
  for (const ErrorMetrics& metrics :
       {metrics_of({kNan, kNan}, {1.0, 2.0}), metrics_of({1.0f, kInfinity}, {1.0, 2.0}),
        metrics_of({1.0f, 2.0f}, {1.0, kNan}), metrics_of({kNan}, {kNan})}) {
    for (const double value : values_of(metrics)) EXPECT_TRUE(std::isnan(value)) << value;
    EXPECT_TRUE(std::isnan(error_ratio(metrics, metrics_of({1.5f}, {1.0}))));
    EXPECT_TRUE(std::isnan(error_ratio(metrics_of({1.5f}, {1.0}), metrics)));
  }
}

TEST(ErrorMetrics, AreNoneWhereTheLseIsNotFinite) {
  const ErrorMetrics metrics =
      error_metrics({{to_half(1), to_half(1)}, {kNan, 2.0f}}, {{1.0, 1.0}, {2.0, 2.0}});
  EXPECT_EQ(metrics.nonfinite, 1u);
  EXPECT_TRUE(std::isnan(metrics.lse_max_abs));
  for (const double value : values_of(metrics)) EXPECT_TRUE(std::isnan(value)) << value;
}

TEST(ErrorMetrics, LeaveOutWhatIsNotFiniteInBoth) {
  const ErrorMetrics metrics = metrics_of({1.5f, kInfinity}, {1.0, kInfinity});
  EXPECT_EQ(metrics.nonfinite, 0u);
  EXPECT_EQ(metrics.rel_l1, 0.5);
}

TEST(ErrorMetrics, CountNonfiniteElementsAndNameTheFirst) {
  const ErrorMetrics metrics = metrics_of({9.0f, kNan, kInfinity}, {1.0, 2.0, 3.0});
  EXPECT_EQ(metrics.nonfinite, 2u);
  EXPECT_EQ(metrics.mismatches, 3u);
  EXPECT_EQ(metrics.worst_index, 1u);
  EXPECT_TRUE(std::isnan(metrics.worst_got));
  EXPECT_EQ(metrics.worst_want, 2.0);
}

TEST(ErrorMetrics, NonfiniteElementsAgreeOnlyInKindAndSign) {
  EXPECT_EQ(metrics_of({kNan, kInfinity}, {kNan, kInfinity}).nonfinite, 0u);
  EXPECT_EQ(metrics_of({kInfinity}, {-kInfinity}).nonfinite, 1u);
  EXPECT_EQ(metrics_of({kInfinity}, {kNan}).nonfinite, 1u);
  EXPECT_EQ(metrics_of({1.0f}, {kInfinity}).nonfinite, 1u);
}

TEST(ErrorMetrics, LseOfAMaskedRowEqualsItself) {
  const ExactRows want = {{0.0, 1.0}, {-kInfinity, 2.0}};
  const ErrorMetrics metrics = error_metrics({{to_half(0), to_half(1)}, {-kInfinity, 2.5f}}, want);
  EXPECT_EQ(metrics.nonfinite, 0u);
  EXPECT_EQ(metrics.lse_max_abs, 0.5);
  EXPECT_EQ(metrics.lse_want_max_abs, 2.0);
  EXPECT_EQ(error_metrics({{to_half(0), to_half(1)}, {0.0f, 2.0f}}, want).nonfinite, 1u);
}

TEST(ErrorMetrics, RefuseDifferentSizes) {
  EXPECT_THROW(metrics_of({1.0f}, {1.0, 2.0}), std::invalid_argument);
  EXPECT_THROW(error_metrics({{to_half(1)}, {}}, {{1.0}, {2.0}}), std::invalid_argument);
}

ErrorMetrics with_errors(double rel_l2, double max_abs, double lse_max_abs) {
  ErrorMetrics metrics;
  metrics.rel_l2 = rel_l2;
  metrics.max_abs = max_abs;
  metrics.lse_max_abs = lse_max_abs;
  metrics.want_max_abs = 1.0;
  return metrics;
}

TEST(WhyIncorrect, AllowsARatioOfUnfusedPlusAFloor) {
  const Tolerance tolerance = {2.0, 0.25, 100.0};
  const ErrorMetrics unfused = with_errors(1.0, 2.0, 3.0);
  EXPECT_EQ(why_incorrect(with_errors(2.25, 4.25, 6.25), unfused, tolerance), "");
  EXPECT_EQ(why_incorrect(with_errors(2.26, 0.0, 0.0), unfused, tolerance),
            "rel_l2 2.26 exceeds 2 x 1 (unfused) + 0.25");
  EXPECT_EQ(why_incorrect(with_errors(0.0, 4.26, 0.0), unfused, tolerance),
            "max_abs 4.26 exceeds 2 x 2 (unfused) + 0.25");
  EXPECT_EQ(why_incorrect(with_errors(0.0, 0.0, 6.26), unfused, tolerance),
            "lse_max_abs 6.26 exceeds 2 x 3 (unfused) + 0.25");
}

TEST(WhyIncorrect, GrantsNoMoreThanTheCapInTheMean) {
  const Tolerance tolerance = {2.0, 0.0, 0.25};
  const ErrorMetrics unfused = with_errors(0.2, 1.0, 1.0);  // a usable standard: max_abs has no cap
  EXPECT_EQ(why_incorrect(with_errors(0.25, 2.0, 2.0), unfused, tolerance), "");
  EXPECT_EQ(
      why_incorrect(with_errors(0.26, 0.0, 0.0), unfused, tolerance),
      "rel_l2 0.26 exceeds 0.25 + 0: the unfused computation errs by 0.2, too much to grant 2 "
      "times that");
}

TEST(WhyIncorrect, CapsTheLargestErrorBesideWhatIsNoMeasure) {
  const Tolerance tolerance = {2.0, 0.0, 0.25};
  const ErrorMetrics unfused = with_errors(1.0, 9.0, 9.0);
  EXPECT_EQ(why_incorrect(with_errors(0.0, 2.0, 2.0), unfused, tolerance), "");
  EXPECT_EQ(why_incorrect(with_errors(0.0, 2.1, 0.0), unfused, tolerance).substr(0, 19),
            "max_abs 2.1 exceeds");
  EXPECT_EQ(why_incorrect(with_errors(0.0, 0.0, 2.1), unfused, tolerance).substr(0, 15),
            "lse_max_abs 2.1");
}

TEST(WhyIncorrect, AllowsAUnitOfFp16WhateverTheUnfused) {
  // Units in the last place: 2^-10 at 1, 2^-9 at 2.5, 2^-24 below 2^-14 and at 0.
  for (const auto& [want, unit] : {std::pair{1.0, 0x1p-10},
                                   {-2.5, 0x1p-9},
                                   {1e-6, 0x1p-24},
                                   {0.0, 0x1p-24},
                                   {65504.0, 32.0},
                                   {1.0 - 1e-9, 0x1p-10}}) {
    const ErrorMetrics exact = metrics_of({static_cast<float>(want)}, {want});
    EXPECT_EQ(exact.unit_max, unit) << want;
    EXPECT_EQ(exact.unit_rms, unit) << want;
    const auto beside = [&](double error) {
      ErrorMetrics kernel = exact;
      kernel.max_abs = kernel.rmse = error;
      kernel.rel_l2 = want == 0.0 ? 0.0 : error / std::abs(want);
      return why_incorrect(kernel, ErrorMetrics{}, {});
    };
    EXPECT_EQ(beside(unit), "") << want;
    EXPECT_NE(beside(1.01 * unit), "") << want;
  }
}

TEST(WhyIncorrect, SumsTheUnitsOfUnlikeElements) {
  const ErrorMetrics metrics = metrics_of({1.0f, 64.0f}, {1.0, 64.0});
  EXPECT_DOUBLE_EQ(metrics.unit_rms, std::sqrt((0x1p-20 + 0x1p-8) / 2));
  EXPECT_EQ(metrics.unit_max, 0x1p-4);
}

TEST(WhyIncorrect, NamesOnlyUnfusedErrorsThatItUses) {
  EXPECT_EQ(why_incorrect(with_errors(0.5, 0.0, 0.0), {}, {0.0, 0.25}), "rel_l2 0.5 exceeds 0.25");
}

TEST(WhyIncorrect, FindsNanInfinityAndMisplacedFiniteElements) {
  const ErrorMetrics unfused = with_errors(1.0, 1.0, 1.0);
  EXPECT_NE(why_incorrect(with_errors(kNan, 0.0, 0.0), unfused, {}), "");
  EXPECT_NE(why_incorrect(with_errors(0.0, kNan, 0.0), unfused, {}), "");
  EXPECT_NE(why_incorrect(with_errors(0.0, 0.0, kNan), unfused, {}), "");
  EXPECT_NE(why_incorrect(unfused, with_errors(kNan, 1.0, 1.0), {}), "");
  EXPECT_NE(why_incorrect(metrics_of({kNan}, {1.0}), unfused, {}), "");
  EXPECT_NE(why_incorrect(metrics_of({1.0f}, {kNan}), unfused, {}), "");
}

TEST(WhyIncorrect, FindsOneWrongElementOfALargeTensor) {
  const std::vector<float> unfused(1'000'000, 0.125f);
  const std::vector<double> want(unfused.begin(), unfused.end());
  std::vector<float> got = unfused;
  got[123'456] = 0.25f;
  const ErrorMetrics kernel = metrics_of(got, want);
  EXPECT_LE(kernel.rel_l2, Tolerance{}.floor * 3);  // rel_l2 by itself would miss it
  EXPECT_NE(why_incorrect(kernel, metrics_of(unfused, want), {}), "");
}

TEST(ErrorRatio, ComparesRelL2) {
  EXPECT_EQ(error_ratio(with_errors(1.0, 0, 0), with_errors(2.0, 0, 0)), 0.5);
  EXPECT_EQ(error_ratio(with_errors(0.0, 0, 0), with_errors(0.0, 0, 0)), 0.0);
  EXPECT_EQ(error_ratio(with_errors(1.0, 0, 0), with_errors(0.0, 0, 0)), kInfinity);
}

TEST(ErrorMetrics, UnitsAreThoseOfTheElementType) {
  const std::vector<double> want = {1.0, 3.0, 0x1p-20, 0.0};
  const std::vector<float> got(want.begin(), want.end());
  const auto units = [&](ElementType element) {
    const ErrorMetrics metrics = error_metrics(got, want, {0, {}, element});
    return std::pair(metrics.unit_max, metrics.unit_rms);
  };
  const double least = 0x1p-24;  // of a small want, in both types
  EXPECT_EQ(units(ElementType::kFp16).first, 0x1p-9);
  EXPECT_DOUBLE_EQ(units(ElementType::kFp16).second,
                   std::sqrt((0x1p-20 + 0x1p-18 + 2 * least * least) / 4));
  EXPECT_EQ(units(ElementType::kBf16).first, 0x1p-6);
  EXPECT_DOUBLE_EQ(units(ElementType::kBf16).second,
                   std::sqrt((0x1p-14 + 0x1p-12 + 2 * least * least) / 4));
}

TEST(ErrorMetrics, Bf16AllowsEightTimesAsMuch) {
  const Tolerance bf16 = tolerance_in(ElementType::kBf16, {2.0, 0x1p-11, 0x1p-5});
  EXPECT_EQ(bf16.ratio, 2.0);
  EXPECT_EQ(bf16.floor, 0x1p-8);
  EXPECT_EQ(bf16.most, 0x1p-3);
  EXPECT_EQ(tolerance_in(ElementType::kBf16, {2.0, 0.0, 0.5}).most, 0.5);
  EXPECT_EQ(tolerance_in(ElementType::kFp16, {3.0, 0x1p-9, 0x1p-4}).floor, 0x1p-9);
}

}  // namespace
}  // namespace sparkbench
