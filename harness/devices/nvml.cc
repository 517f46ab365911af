#include "harness/devices/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvml.h>

#include <utility>
#include <vector>

namespace sparkbench {
namespace {

constexpr double kMilliwattsPerWatt = 1e3;
constexpr std::pair<unsigned long long, const char*> kThrottleReasons[] = {
    {nvmlClocksThrottleReasonGpuIdle, "gpu_idle"},
    {nvmlClocksThrottleReasonApplicationsClocksSetting, "applications_clocks_setting"},
    {nvmlClocksThrottleReasonSwPowerCap, "sw_power_cap"},
    {nvmlClocksThrottleReasonHwSlowdown, "hw_slowdown"},
    {nvmlClocksThrottleReasonSyncBoost, "sync_boost"},
    {nvmlClocksThrottleReasonSwThermalSlowdown, "sw_thermal_slowdown"},
    {nvmlClocksThrottleReasonHwThermalSlowdown, "hw_thermal_slowdown"},
    {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "hw_power_brake_slowdown"},
    {nvmlClocksThrottleReasonDisplayClockSetting, "display_clock_setting"}};

std::vector<std::string> names_of(unsigned long long bits) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : kThrottleReasons) {
    if ((bits & bit) != 0) names.emplace_back(name);
    bits &= ~bit;
  }
  for (int bit = 0; bit < 64; ++bit) {
    if ((bits >> bit & 1) != 0) names.push_back(fmt::format("bit_{}", bit));
  }
  return names;
}

}  // namespace

struct Nvml::Api {
  /// A function of the library; null if the library has none with this name.
  template <class Type>
  struct Function {
    const char* name;
    Type* address;

    Function(void* library, const char* symbol)
        : name(symbol), address(reinterpret_cast<Type*>(dlsym(library, symbol))) {}
  };

  void* library;
  Function<decltype(nvmlErrorString)> error_string{library, "nvmlErrorString"};
  Function<decltype(nvmlInit_v2)> init{library, "nvmlInit_v2"};
  Function<decltype(nvmlShutdown)> shutdown{library, "nvmlShutdown"};
  Function<decltype(nvmlSystemGetDriverVersion)> driver_version{library,
                                                                "nvmlSystemGetDriverVersion"};
  Function<decltype(nvmlDeviceGetHandleByPciBusId_v2)> handle{library,
                                                              "nvmlDeviceGetHandleByPciBusId_v2"};
  Function<decltype(nvmlDeviceGetUUID)> uuid{library, "nvmlDeviceGetUUID"};
  Function<decltype(nvmlDeviceGetEnforcedPowerLimit)> power_limit{
      library, "nvmlDeviceGetEnforcedPowerLimit"};
  Function<decltype(nvmlDeviceGetPowerUsage)> power_draw{library, "nvmlDeviceGetPowerUsage"};
  Function<decltype(nvmlDeviceGetTemperature)> temperature{library, "nvmlDeviceGetTemperature"};
  Function<decltype(nvmlDeviceGetEccMode)> ecc{library, "nvmlDeviceGetEccMode"};
  Function<decltype(nvmlDeviceGetPersistenceMode)> persistence{library,
                                                               "nvmlDeviceGetPersistenceMode"};
  // A toolkit before 12.2 declares only the function that drivers before 535 have.
  using ClocksReasons = decltype(nvmlDeviceGetCurrentClocksThrottleReasons);
  Function<ClocksReasons> reasons{library, "nvmlDeviceGetCurrentClocksEventReasons"};
  Function<ClocksReasons> old_reasons{library, "nvmlDeviceGetCurrentClocksThrottleReasons"};

  /// "" if the call succeeds, else the reason.
  template <class Type, class... Arguments>
  std::string call(const Function<Type>& function, Arguments... arguments) const {
    if (function.address == nullptr) {
      return fmt::format("this driver's NVML has no {}", function.name);
    }
    const nvmlReturn_t status = function.address(arguments...);
    if (status == NVML_SUCCESS) return "";
    return fmt::format(
        "{}: {}", function.name,
        error_string.address != nullptr ? error_string.address(status) : std::to_string(status));
  }
};

/// One query of one GPU.
class Nvml::Question {
 public:
  Question(const Api& api, nvmlDevice_t device, NvmlReading& reading)
      : api_(api), device_(device), reading_(reading) {}

  void ask_what_lasts() {
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
    unsigned value = 0;
    nvmlEnableState_t is_on = NVML_FEATURE_DISABLED, will_be_on = NVML_FEATURE_DISABLED;
    if (ask("uuid", api_.uuid, text, NVML_DEVICE_UUID_V2_BUFFER_SIZE)) reading_.uuid = text;
    if (ask("power_limit_w", api_.power_limit, &value)) {
      reading_.power_limit_w = value / kMilliwattsPerWatt;
    }
    if (ask("ecc", api_.ecc, &is_on, &will_be_on)) reading_.ecc = is_on == NVML_FEATURE_ENABLED;
    if (ask("persistence_mode", api_.persistence, &is_on)) {
      reading_.persistence_mode = is_on == NVML_FEATURE_ENABLED;
    }
  }

  void ask_what_changes() {
    DeviceState& state = reading_.state;
    unsigned value = 0;
    unsigned long long bits = 0;
    if (ask("temperature_c", api_.temperature, NVML_TEMPERATURE_GPU, &value)) {
      state.temperature_c = value;
    }
    if (ask("power_draw_w", api_.power_draw, &value)) {
      state.power_draw_w = value / kMilliwattsPerWatt;
    }
    const bool is_old = api_.reasons.address == nullptr && api_.old_reasons.address != nullptr;
    if (ask("throttle_reasons", is_old ? api_.old_reasons : api_.reasons, &bits)) {
      state.throttle_reasons = names_of(bits);
    }
  }

 private:
  /// Whether the field is known; otherwise adds the reason to the reading.
  template <class Type, class... Arguments>
  bool ask(const char* field, const Api::Function<Type>& function, Arguments... arguments) {
    std::string why = api_.call(function, device_, arguments...);
    if (why.empty()) return true;
    reading_.why_unknown[field] = std::move(why);
    return false;
  }

  const Api& api_;
  nvmlDevice_t device_;
  NvmlReading& reading_;
};

void Nvml::CloseLibrary::operator()(void* library) const { dlclose(library); }

Nvml::Nvml(const std::string& library) : why_not_(start(library)) {
  why_no_driver_version_ = why_not_;
  if (!why_not_.empty()) return;
  char text[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = {};
  why_no_driver_version_ =
      api_->call(api_->driver_version, text, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
  if (why_no_driver_version_.empty()) driver_version_ = text;
}

std::string Nvml::start(const std::string& library) {
  library_.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library_ == nullptr) {
    const char* const error = dlerror();
    return error != nullptr ? error : library + " cannot be loaded";
  }
  auto api = std::make_unique<Api>(Api{library_.get()});
  if (std::string why = api->call(api->init); !why.empty()) return why;
  api_ = std::move(api);
  return "";
}

Nvml::~Nvml() {
  if (api_ != nullptr && api_->shutdown.address != nullptr) api_->shutdown.address();
}

std::string Nvml::find_device(const std::string& pci_bus_id, nvmlDevice_st*& device) const {
  if (api_ == nullptr) return why_not_;
  return api_->call(api_->handle, pci_bus_id.c_str(), &device);
}

NvmlReading Nvml::read(const std::string& pci_bus_id) const {
  nvmlDevice_t device = nullptr;
  if (const std::string why = find_device(pci_bus_id, device); !why.empty()) {
    return nothing_read(why);
  }
  NvmlReading reading;
  Question question(*api_, device, reading);
  question.ask_what_lasts();
  question.ask_what_changes();
  return reading;
}

DeviceState Nvml::read_state(const std::string& pci_bus_id) const {
  NvmlReading reading;
  nvmlDevice_t device = nullptr;
  if (find_device(pci_bus_id, device).empty()) {
    Question(*api_, device, reading).ask_what_changes();
  }
  return reading.state;
}

}  // namespace sparkbench
