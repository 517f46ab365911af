// Tests NVML with a fake library (test_nvml.cc), complete and as in an old driver.
#include "harness/devices/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace sparkbench {
namespace {

constexpr const char* kGpu = "0000:0A:00.0";

/// Makes a call of the fake fail during its lifetime.
class Failing {
 public:
  explicit Failing(const std::string& function) {
    setenv("FAKE_NVML", ("fails=" + function).c_str(), 1);
  }
  ~Failing() { unsetenv("FAKE_NVML"); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
};

TEST(Nvml, SaysWhatTheDriverKnowsOfAGpu) {
  const Nvml nvml(SPARKBENCH_FAKE_NVML);
  EXPECT_EQ(nvml.driver_version(), "580.95.05");
  EXPECT_EQ(nvml.why_no_driver_version(), "");
  const NvmlReading reading = nvml.read(kGpu);
  EXPECT_EQ(reading.uuid, "GPU-0123");
  EXPECT_EQ(reading.power_limit_w, 700.0);
  EXPECT_EQ(reading.ecc, true);
  EXPECT_EQ(reading.persistence_mode, false);
  EXPECT_EQ(reading.state.temperature_c, 54.0);
  EXPECT_EQ(reading.state.power_draw_w, 612.5);
  EXPECT_EQ(reading.state.throttle_reasons,
            std::vector<std::string>({"sw_power_cap", "hw_thermal_slowdown", "bit_12"}));
  EXPECT_TRUE(reading.why_unknown.empty());
  EXPECT_EQ(nvml.read_state(kGpu).temperature_c, 54.0);
}

TEST(Nvml, ThatIsAbsentKnowsNothingAndSaysWhy) {
  const Nvml nvml("libnvidia-ml-that-is-not-there.so.1");
  EXPECT_EQ(nvml.driver_version(), std::nullopt);
  EXPECT_NE(nvml.why_no_driver_version().find("libnvidia-ml-that-is-not-there.so.1: "),
            std::string::npos)
      << nvml.why_no_driver_version();
  const NvmlReading reading = nvml.read(kGpu);
  EXPECT_EQ(reading.uuid, std::nullopt);
  EXPECT_EQ(reading.why_unknown.size(), 7u);
  EXPECT_EQ(reading.why_unknown.at("ecc"), nvml.why_no_driver_version());
  EXPECT_EQ(nvml.read_state(kGpu).power_draw_w, std::nullopt);
}

TEST(Nvml, OfAnOldDriverLacksFunctions) {
  const Nvml nvml(SPARKBENCH_FAKE_OLD_NVML);
  const NvmlReading reading = nvml.read(kGpu);
  EXPECT_EQ(reading.uuid, "GPU-0123");
  EXPECT_EQ(reading.persistence_mode, std::nullopt);
  EXPECT_EQ(reading.why_unknown,
            (std::map<std::string, std::string>{
                {"persistence_mode", "this driver's NVML has no nvmlDeviceGetPersistenceMode"}}));
  EXPECT_EQ(reading.state.throttle_reasons.value().size(), 3u) << "under the name of before 535";
}

class NvmlCall : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(NvmlCall, ThatFailsLeavesItsFieldNull) {
  const auto& [function, field] = GetParam();
  const Failing failing(function);
  const NvmlReading reading = Nvml(SPARKBENCH_FAKE_NVML).read(kGpu);
  EXPECT_EQ(
      reading.why_unknown,
      (std::map<std::string, std::string>{{field, std::string(function) + ": Not Supported"}}));
  DeviceInfo info;
  record_reading(reading, info);
  EXPECT_EQ(info.uuid.has_value(), std::string_view(field) != "uuid");
  EXPECT_EQ(info.power_limit_w.has_value(), std::string_view(field) != "power_limit_w");
  EXPECT_EQ(info.ecc.has_value(), std::string_view(field) != "ecc");
  EXPECT_EQ(info.persistence_mode.has_value(), std::string_view(field) != "persistence_mode");
  EXPECT_EQ(info.state->temperature_c.has_value(), std::string_view(field) != "temperature_c");
  EXPECT_EQ(info.state->power_draw_w.has_value(), std::string_view(field) != "power_draw_w");
  EXPECT_EQ(info.state->throttle_reasons.has_value(),
            std::string_view(field) != "throttle_reasons");
}

INSTANTIATE_TEST_SUITE_P(
    Functions, NvmlCall,
    testing::Values(std::pair("nvmlDeviceGetUUID", "uuid"),
                    std::pair("nvmlDeviceGetEnforcedPowerLimit", "power_limit_w"),
                    std::pair("nvmlDeviceGetEccMode", "ecc"),
                    std::pair("nvmlDeviceGetPersistenceMode", "persistence_mode"),
                    std::pair("nvmlDeviceGetTemperature", "temperature_c"),
                    std::pair("nvmlDeviceGetPowerUsage", "power_draw_w"),
                    std::pair("nvmlDeviceGetCurrentClocksEventReasons", "throttle_reasons")));

TEST(Nvml, ThatDoesNotStartKnowsNothing) {
  const Failing failing("nvmlInit_v2");
  const Nvml nvml(SPARKBENCH_FAKE_NVML);
  EXPECT_EQ(nvml.why_no_driver_version(), "nvmlInit_v2: Not Supported");
  EXPECT_EQ(nvml.read(kGpu).why_unknown.at("uuid"), "nvmlInit_v2: Not Supported");
}

TEST(Nvml, MayNotKnowTheDriverOrTheGpu) {
  {
    const Failing failing("nvmlSystemGetDriverVersion");
    const Nvml nvml(SPARKBENCH_FAKE_NVML);
    EXPECT_EQ(nvml.driver_version(), std::nullopt);
    EXPECT_EQ(nvml.why_no_driver_version(), "nvmlSystemGetDriverVersion: Not Supported");
    EXPECT_EQ(nvml.read(kGpu).uuid, "GPU-0123");
  }
  EXPECT_EQ(Nvml(SPARKBENCH_FAKE_NVML).read("0000:FF:00.0").why_unknown.at("uuid"),
            "nvmlDeviceGetHandleByPciBusId_v2: Not Found");
}

TEST(Nvml, IsShutDownAsOftenAsStarted) {
  void* const library = dlopen(SPARKBENCH_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto starts = reinterpret_cast<int (*)()>(dlsym(library, "fake_nvml_starts"));
  ASSERT_EQ(starts(), 0);
  {
    const Nvml nvml(SPARKBENCH_FAKE_NVML);
    EXPECT_EQ(starts(), 1);
  }
  EXPECT_EQ(starts(), 0);
  dlclose(library);
}

}  // namespace
}  // namespace sparkbench
