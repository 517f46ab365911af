#include "harness/devices/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <bit>
#include <utility>
#include <vector>

#include "harness/devices/nvml_api.h"

namespace sparkbench {
namespace {

constexpr double kMilliwattsPerWatt = 1e3;
constexpr const char* kFields[] = {
    "uuid",         "power_limit_w",   "ecc", "persistence_mode", "temperature_c",
    "power_draw_w", "throttle_reasons"};

/// Sets `function` to null if the library does not have it.
template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

std::vector<std::string> names_of(unsigned long long bits) {
  std::vector<std::string> names;
  for (; bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
    names.push_back(bit < nvml::kThrottleReasons.size() ? std::string(nvml::kThrottleReasons[bit])
                                                        : fmt::format("bit_{}", bit));
  }
  return names;
}

}  // namespace

struct Nvml::Api {
  nvml::Init* init;
  nvml::Shutdown* shutdown;
  nvml::ErrorString* error_string;
  nvml::DriverVersion* driver_version;
  nvml::HandleByPciBusId* handle;
  nvml::Uuid* uuid;
  nvml::Milliwatts* power_limit;
  nvml::Milliwatts* power_draw;
  nvml::Temperature* temperature;
  nvml::EccMode* ecc;
  nvml::PersistenceMode* persistence;
  nvml::ClocksEventReasons* reasons;

  explicit Api(void* library) {
    find(library, "nvmlInit_v2", init);
    find(library, "nvmlShutdown", shutdown);
    find(library, "nvmlErrorString", error_string);
    find(library, "nvmlSystemGetDriverVersion", driver_version);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", handle);
    find(library, "nvmlDeviceGetUUID", uuid);
    find(library, "nvmlDeviceGetEnforcedPowerLimit", power_limit);
    find(library, "nvmlDeviceGetPowerUsage", power_draw);
    find(library, "nvmlDeviceGetTemperature", temperature);
    find(library, "nvmlDeviceGetEccMode", ecc);
    find(library, "nvmlDeviceGetPersistenceMode", persistence);
    find(library, "nvmlDeviceGetCurrentClocksEventReasons", reasons);
    if (reasons == nullptr) {  // its name before driver 535
      find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons);
    }
  }

  /// "" if the call succeeds, else the reason.
  template <class Function, class... Arguments>
  std::string call(const char* name, Function* function, Arguments... arguments) const {
    if (function == nullptr) return fmt::format("this driver's NVML has no {}", name);
    const int status = function(arguments...);
    if (status == nvml::kSuccess) return "";
    return fmt::format("{}: {}", name,
                       error_string != nullptr ? error_string(status) : std::to_string(status));
  }
};

/// One query of one GPU.
class Nvml::Question {
 public:
  Question(const Api& api, nvml::Device device, NvmlReading& reading)
      : api_(api), device_(device), reading_(reading) {}

  void ask_what_lasts() {
    char text[nvml::kTextBytes] = {};
    unsigned value = 0, pending = 0;
    if (ask("uuid", "nvmlDeviceGetUUID", api_.uuid, text, nvml::kTextBytes - 1)) {
      reading_.uuid = text;
    }
    if (ask("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", api_.power_limit, &value)) {
      reading_.power_limit_w = value / kMilliwattsPerWatt;
    }
    if (ask("ecc", "nvmlDeviceGetEccMode", api_.ecc, &value, &pending)) reading_.ecc = value != 0;
    if (ask("persistence_mode", "nvmlDeviceGetPersistenceMode", api_.persistence, &value)) {
      reading_.persistence_mode = value != 0;
    }
  }

  void ask_what_changes() {
    DeviceState& state = reading_.state;
    unsigned value = 0;
    unsigned long long bits = 0;
    if (ask("temperature_c", "nvmlDeviceGetTemperature", api_.temperature, nvml::kTemperatureOfGpu,
            &value)) {
      state.temperature_c = value;
    }
    if (ask("power_draw_w", "nvmlDeviceGetPowerUsage", api_.power_draw, &value)) {
      state.power_draw_w = value / kMilliwattsPerWatt;
    }
    if (ask("throttle_reasons", "nvmlDeviceGetCurrentClocksEventReasons", api_.reasons, &bits)) {
      state.throttle_reasons = names_of(bits);
    }
  }

 private:
  /// Whether the field is known; otherwise adds the reason to the reading.
  template <class Function, class... Arguments>
  bool ask(const char* field, const char* name, Function* function, Arguments... arguments) {
    std::string why = api_.call(name, function, device_, arguments...);
    if (why.empty()) return true;
    reading_.why_unknown[field] = std::move(why);
    return false;
  }

  const Api& api_;
  nvml::Device device_;
  NvmlReading& reading_;
};

void Nvml::CloseLibrary::operator()(void* library) const { dlclose(library); }

Nvml::Nvml(const std::string& library) : why_not_(start(library)) {
  why_no_driver_version_ = why_not_;
  if (!why_not_.empty()) return;
  char text[nvml::kTextBytes] = {};
  why_no_driver_version_ =
      api_->call("nvmlSystemGetDriverVersion", api_->driver_version, text, nvml::kTextBytes - 1);
  if (why_no_driver_version_.empty()) driver_version_ = text;
}

std::string Nvml::start(const std::string& library) {
  library_.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library_ == nullptr) {
    const char* const error = dlerror();
    return error != nullptr ? error : library + " cannot be loaded";
  }
  auto api = std::make_unique<Api>(library_.get());
  if (std::string why = api->call("nvmlInit_v2", api->init); !why.empty()) return why;
  api_ = std::move(api);
  return "";
}

Nvml::~Nvml() {
  if (api_ != nullptr && api_->shutdown != nullptr) api_->shutdown();
}

std::string Nvml::find_device(const std::string& pci_bus_id, nvmlDevice_st*& device) const {
  if (api_ == nullptr) return why_not_;
  return api_->call("nvmlDeviceGetHandleByPciBusId_v2", api_->handle, pci_bus_id.c_str(), &device);
}

NvmlReading Nvml::read(const std::string& pci_bus_id) const {
  NvmlReading reading;
  nvml::Device device = nullptr;
  if (const std::string why = find_device(pci_bus_id, device); !why.empty()) {
    for (const char* const field : kFields) reading.why_unknown[field] = why;
    return reading;
  }
  Question question(*api_, device, reading);
  question.ask_what_lasts();
  question.ask_what_changes();
  return reading;
}

DeviceState Nvml::read_state(const std::string& pci_bus_id) const {
  NvmlReading reading;
  nvml::Device device = nullptr;
  if (find_device(pci_bus_id, device).empty()) {
    Question(*api_, device, reading).ask_what_changes();
  }
  return reading.state;
}

void record_reading(const NvmlReading& reading, DeviceInfo& info) {
  info.uuid = reading.uuid;
  info.power_limit_w = reading.power_limit_w;
  info.ecc = reading.ecc;
  info.persistence_mode = reading.persistence_mode;
  info.state = reading.state;
  info.why_unknown = reading.why_unknown;
}

}  // namespace sparkbench
