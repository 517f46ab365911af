#include "harness/model/calibration/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace sparkbench {
namespace {

constexpr int kKib = 1024;

Spread about(double value) { return {value, 0.99 * value, 1.02 * value}; }

/// Readings of a chip: a product takes 8 cycles with reused operands and `no_reuse` more with fresh
/// ones, an L0 cache holds `l0_kib`, and beyond it `supply` bytes a clock arrive at a scheduler.
CalibrationReadings planted(double no_reuse, int l0_kib, double supply) {
  CalibrationReadings readings{"m8n8k4", 1380, 11, {}, {}};
  for (const int warps : {1, 2}) {
    readings.products.push_back({false, warps, about(8)});
    readings.products.push_back({true, warps, about(8 + no_reuse)});
  }
  for (int sharing = 0; sharing < kCodeSharings; ++sharing) {
    for (const int kib : {128, 8, 16, 4, 64}) {  // in no order
      const double rate = kib <= l0_kib ? 0.98 : std::min(0.98, supply / 16);
      readings.code.push_back({static_cast<CodeSharing>(sharing), kib * kKib, about(rate)});
    }
  }
  return readings;
}

TEST(Calibration, FindsTheTwoUnknowns) {
  const CalibrationFindings findings = evaluate(planted(1, 8, 7.8), 70);
  for (const Spread& cycles : findings.no_reuse_cycles) {
    EXPECT_NEAR(cycles.median, 1, 1e-9);
    EXPECT_NEAR(cycles.min, 0.99 * 9 - 1.02 * 8, 1e-9);
    EXPECT_NEAR(cycles.max, 1.02 * 9 - 0.99 * 8, 1e-9);
  }
  for (const CodeSupply& supply : findings.supply) {
    EXPECT_EQ(supply.full_rate_bytes, 8 * kKib);
    EXPECT_TRUE(supply.is_limited);
    EXPECT_NEAR(supply.bytes_per_clock.median, 7.8, 1e-9);
    EXPECT_NEAR(supply.bytes_per_clock.max, 1.02 * 7.8, 1e-9);
  }
}

TEST(Calibration, NamesTheAssumptionThatFits) {
  const auto fit = [](double no_reuse, double supply) {
    return evaluate(planted(no_reuse, 8, supply), 70).fits.value();
  };
  EXPECT_EQ(fit(0, 16), ChipAssumption::kForwarded);
  EXPECT_EQ(fit(0.49, 16), ChipAssumption::kForwarded);
  EXPECT_EQ(fit(0.51, 16), ChipAssumption::kNoReuse);
  EXPECT_EQ(fit(1, 13), ChipAssumption::kSupply16);
  EXPECT_EQ(fit(1, 12), ChipAssumption::kSupply16);
  EXPECT_EQ(fit(1, 11.9), ChipAssumption::kSupply8);
  EXPECT_EQ(fit(1, 8), ChipAssumption::kSupply8);
}

TEST(Calibration, SaysWhatItSawInASentence) {
  EXPECT_EQ(evaluate(planted(1, 8, 7.8), 70).sentence,
            "Assume supply-8: with two warps a scheduler fresh operands cost m8n8k4 1.00 cycles, "
            "and code past 8 KB comes to two warps that share none at 7.8 bytes a clock.");
  EXPECT_NE(evaluate(planted(0, 8, 7.8), 70).sentence.find("it is a lower bound"),
            std::string::npos);
  EXPECT_NE(evaluate(planted(0, 8, 16), 70).sentence.find("128 KB of code come"),
            std::string::npos);
}

TEST(Calibration, SaysNothingOfAV100ByAnotherGpu) {
  const CalibrationFindings findings = evaluate(planted(1, 32, 7.8), 90);
  EXPECT_FALSE(findings.fits.has_value());
  EXPECT_NE(findings.sentence.find("sm_90: it says nothing of a V100"), std::string::npos);
  EXPECT_EQ(findings.supply[0].full_rate_bytes, 16 * kKib);
}

TEST(Calibration, MindsNotTheJumpBackOfShortLoops) {
  CalibrationReadings readings = planted(1, 8, 14);
  for (CodeReading& code : readings.code) {
    if (code.code_bytes == 4 * kKib) code.instructions_per_clock = about(0.87);
  }
  const CodeSupply supply = evaluate(readings, 70).supply[0];
  EXPECT_EQ(supply.full_rate_bytes, 8 * kKib);
  EXPECT_TRUE(supply.is_limited);
  EXPECT_NEAR(supply.bytes_per_clock.median, 14, 1e-9);
}

TEST(Calibration, LeavesOutWhatTheLargerCacheMayLimit) {
  CalibrationReadings readings = planted(1, 8, 14);
  for (CodeReading& code : readings.code) {
    if (code.code_bytes == 128 * kKib) code.instructions_per_clock = about(0.2);
  }
  EXPECT_NEAR(evaluate(readings, 70).supply[2].bytes_per_clock.median, 14, 1e-9);
  for (CodeReading& code : readings.code) {  // unless nothing else is beyond the L0 cache
    if (code.code_bytes == 16 * kKib || code.code_bytes == 64 * kKib) {
      code.instructions_per_clock = about(0.98);
    }
  }
  const CodeSupply supply = evaluate(readings, 70).supply[2];
  EXPECT_EQ(supply.full_rate_bytes, 64 * kKib);
  EXPECT_NEAR(supply.bytes_per_clock.median, 3.2, 1e-9);
}

TEST(Calibration, RefusesReadingsThatAreMissingOrNoNumbers) {
  CalibrationReadings readings = planted(1, 8, 8);
  readings.products.pop_back();
  EXPECT_THROW(evaluate(readings, 70), std::invalid_argument);
  for (const double wrong : {0.0, -1.0, std::nan(""), -std::numeric_limits<double>::infinity()}) {
    readings = planted(1, 8, 8);
    readings.products[0].cycles.min = wrong;
    EXPECT_THROW(evaluate(readings, 70), std::invalid_argument) << wrong;
    readings = planted(1, 8, 8);
    readings.code[3].instructions_per_clock.median = wrong;
    EXPECT_THROW(evaluate(readings, 70), std::invalid_argument) << wrong;
  }
  readings = planted(1, 8, 8);
  readings.code.clear();
  EXPECT_THROW(evaluate(readings, 70), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
