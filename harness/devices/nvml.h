// NVML readings of a GPU, as nvidia-smi prints them. The declarations are in the CUDA toolkit's
// nvml.h. The library is loaded at run time: it comes with the driver, and a container may lack it.
// A build with a toolkit without nvml.h has no readings, and says why.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "results/record/run_record.h"

struct nvmlDevice_st;

namespace sparkbench {

/// Null for values that NVML does not report; `why_unknown` has the reason for each, by its name in
/// DeviceInfo, DeviceState or Environment.
struct NvmlReading {
  std::optional<std::string> uuid;
  std::optional<double> power_limit_w;  // the enforced limit
  std::optional<bool> ecc, persistence_mode;
  DeviceState state;
  std::map<std::string, std::string> why_unknown;
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  /// Never throws. Without the library, or if it fails to start, nothing is known.
  explicit Nvml(const std::string& library = kLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// "580.95.05"; null if unknown, with the reason in why_no_driver_version().
  std::optional<std::string> driver_version() const { return driver_version_; }
  const std::string& why_no_driver_version() const { return why_no_driver_version_; }

  /// For the GPU with this PCI bus id, in the form of cudaDeviceGetPCIBusId().
  NvmlReading read(const std::string& pci_bus_id) const;
  /// The momentary values.
  DeviceState read_state(const std::string& pci_bus_id) const;

 private:
  struct Api;
  class Question;
  struct CloseLibrary {
    void operator()(void* library) const;
  };

  /// "" if it succeeds, else the reason.
  std::string start(const std::string& library);
  std::string find_device(const std::string& pci_bus_id, nvmlDevice_st*& device) const;

  std::unique_ptr<void, CloseLibrary> library_;
  std::unique_ptr<Api> api_;
  std::string why_not_;  // no reading; empty if NVML has started
  std::optional<std::string> driver_version_;
  std::string why_no_driver_version_;
};

/// A reading of a GPU that cannot be queried.
inline NvmlReading nothing_read(const std::string& why) {
  NvmlReading reading;
  for (const char* const field : {"uuid", "power_limit_w", "ecc", "persistence_mode",
                                  "temperature_c", "power_draw_w", "throttle_reasons"}) {
    reading.why_unknown[field] = why;
  }
  return reading;
}

/// Copies a reading to the record's fields.
inline void record_reading(const NvmlReading& reading, DeviceInfo& info) {
  info.uuid = reading.uuid;
  info.power_limit_w = reading.power_limit_w;
  info.ecc = reading.ecc;
  info.persistence_mode = reading.persistence_mode;
  info.state = reading.state;
  info.why_unknown = reading.why_unknown;
}

}  // namespace sparkbench
