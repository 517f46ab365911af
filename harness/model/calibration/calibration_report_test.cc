#include "harness/model/calibration/calibration.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sparkbench {
namespace {

CalibrationReadings planted() {
  CalibrationReadings readings{"m8n8k4", 1380, 11, {}, {}};
  for (const int warps : {1, 2}) {
    readings.products.push_back({false, warps, {8.01, 8, 8.02}});
    readings.products.push_back({true, warps, {9.01, 9, 9.03}});
  }
  for (int sharing = 0; sharing < kCodeSharings; ++sharing) {
    for (const int kib : {4, 64}) {
      const double rate = kib == 4 ? 0.98 : 0.5;
      readings.code.push_back({static_cast<CodeSharing>(sharing), kib * 1024, {rate, rate, rate}});
    }
  }
  return readings;
}

Environment environment_of(int sm) {
  Environment environment;
  environment.driver_version = "535.1";
  environment.device.name = "Tesla V100-SXM2-16GB";
  environment.device.sm = sm;
  environment.device.uuid = "GPU-01";
  return environment;
}

nlohmann::json stored(int sm) {
  BuildInfo build;
  build.cuda_toolkit = "11.8";
  return nlohmann::json::parse(calibration_to_json(
      "2026-11-22T07:00:00Z", build, environment_of(sm), planted(), evaluate(planted(), sm)));
}

TEST(CalibrationReport, StoresWhatWasMeasuredWhereAndBy) {
  const nlohmann::json json = stored(70);
  EXPECT_EQ(json["schema"], "sparkbench.calibration 1.0.0");
  EXPECT_EQ(json["measured_at"], "2026-11-22T07:00:00Z");
  EXPECT_EQ(json["device"]["uuid"], "GPU-01");
  EXPECT_EQ(json["device"]["sm_clock_mhz"], 1380.0);
  EXPECT_TRUE(json["device"]["sm_count"].is_null());
  EXPECT_EQ(json["build"]["cuda_toolkit"], "11.8");
  EXPECT_NEAR(json["findings"]["hmma_noreuse_cycles"]["two_warps"]["median"], 1, 1e-9);
  const nlohmann::json& supply = json["findings"]["instruction_supply"];
  EXPECT_EQ(supply["two_warps_own_code"]["bytes_per_clock"]["median"], 8.0);
  EXPECT_EQ(supply["one_warp"]["is_limited"], true);
  EXPECT_EQ(json["findings"]["assumption"], "supply-8");
  EXPECT_EQ(json["readings"]["products"].size(), 4u);
  EXPECT_EQ(json["readings"]["code"].size(), 6u);
}

TEST(CalibrationReport, StoresNoAssumptionOfAnotherGpu) {
  EXPECT_TRUE(stored(90)["findings"]["assumption"].is_null());
  EXPECT_EQ(stored(90)["device"]["sm"], 90);
}

TEST(CalibrationReport, PrintsReadingsWithTheirSpread) {
  const std::string text =
      format_calibration(environment_of(70).device, planted(), evaluate(planted(), 70));
  for (const char* const part :
       {"Tesla V100-SXM2-16GB (sm_70) at 1380 MHz", "operands of m8n8k4", "9.010 (9.000 to 9.030)",
        "two warps, own code", "64 KB", "Assume supply-8"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
}

}  // namespace
}  // namespace sparkbench
