// For tests: a fake library with the part of NVML's interface that the program calls. It has fixed
// readings for one GPU, at 0000:0A:00.0. With FAKE_NVML="fails=FUNCTION" that function returns
// NVML_ERROR_NOT_SUPPORTED. Built twice: FAKE_NVML_IS_OLD makes it an old driver's library.
#include <nvml.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int starts = 0;

nvmlReturn_t status_of(const char* function) {
  const char* const says = getenv("FAKE_NVML");
  char word[96];
  snprintf(word, sizeof word, "fails=%s", function);
  if (says != nullptr && strstr(says, word) != nullptr) return NVML_ERROR_NOT_SUPPORTED;
  const bool has_started = starts > 0 || strcmp(function, "nvmlInit_v2") == 0;
  return has_started ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's.
extern "C" {

nvmlReturn_t nvmlInit_v2() {
  const nvmlReturn_t status = status_of("nvmlInit_v2");
  if (status == NVML_SUCCESS) ++starts;
  return status;
}

nvmlReturn_t nvmlInitWithFlags(unsigned /*flags*/) { return nvmlInit_v2(); }

nvmlReturn_t nvmlShutdown() {
  --starts;
  return NVML_SUCCESS;
}

/// How many are started and not shut down.
int fake_nvml_starts() { return starts; }

const char* nvmlErrorString(nvmlReturn_t status) {
  switch (status) {
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  snprintf(version, length, "580.95.05");
  return status_of("nvmlSystemGetDriverVersion");
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, nvmlDevice_t* device) {
  *device = reinterpret_cast<nvmlDevice_t>(&starts);
  if (strcmp(pci_bus_id, "0000:0A:00.0") != 0) return NVML_ERROR_NOT_FOUND;
  return status_of("nvmlDeviceGetHandleByPciBusId_v2");
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  *device = reinterpret_cast<nvmlDevice_t>(&starts);
  if (strcmp(uuid, "GPU-0123") != 0) return NVML_ERROR_NOT_FOUND;
  return status_of("nvmlDeviceGetHandleByUUID");
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t /*device*/, char* uuid, unsigned length) {
  snprintf(uuid, length, "GPU-0123");
  return status_of("nvmlDeviceGetUUID");
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t /*device*/, unsigned* milliwatts) {
  *milliwatts = 700000;
  return status_of("nvmlDeviceGetEnforcedPowerLimit");
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t /*device*/, unsigned* milliwatts) {
  *milliwatts = 612500;
  return status_of("nvmlDeviceGetPowerUsage");
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t /*device*/, nvmlTemperatureSensors_t sensor,
                                      unsigned* celsius) {
  *celsius = sensor == NVML_TEMPERATURE_GPU ? 54 : 99;
  return status_of("nvmlDeviceGetTemperature");
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t /*device*/, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending) {
  *current = NVML_FEATURE_ENABLED;
  *pending = NVML_FEATURE_DISABLED;
  return status_of("nvmlDeviceGetEccMode");
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t /*device*/,
                                                       unsigned long long* bits) {
  *bits = 0x4 | 0x40 | 0x1000;
  return status_of("nvmlDeviceGetCurrentClocksThrottleReasons");
}

#ifndef FAKE_NVML_IS_OLD
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t /*device*/, nvmlEnableState_t* mode) {
  *mode = NVML_FEATURE_DISABLED;
  return status_of("nvmlDeviceGetPersistenceMode");
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t /*device*/,
                                                    unsigned long long* bits) {
  *bits = 0x4 | 0x40 | 0x1000;
  return status_of("nvmlDeviceGetCurrentClocksEventReasons");
}
#endif

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
