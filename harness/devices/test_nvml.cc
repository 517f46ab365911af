// For tests: a fake library with the part of NVML's interface that the program calls. It has fixed
// readings for one GPU, at 0000:0A:00.0. With FAKE_NVML="fails=FUNCTION" that function returns
// NVML_ERROR_NOT_SUPPORTED. Built twice: FAKE_NVML_IS_OLD makes it an old driver's library.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int starts = 0;

int status_of(const char* function) {
  const char* const says = getenv("FAKE_NVML");
  char word[96];
  snprintf(word, sizeof word, "fails=%s", function);
  if (says != nullptr && strstr(says, word) != nullptr) return 3;
  return starts > 0 || strcmp(function, "nvmlInit_v2") == 0 ? 0 : 1;  // uninitialized
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's.
extern "C" {

int nvmlInit_v2() {
  const int status = status_of("nvmlInit_v2");
  if (status == 0) ++starts;
  return status;
}

int nvmlShutdown() {
  --starts;
  return 0;
}

/// How many are started and not shut down.
int fake_nvml_starts() { return starts; }

const char* nvmlErrorString(int status) { return status == 3 ? "Not Supported" : "Unknown Error"; }

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  snprintf(version, length, "580.95.05");
  return status_of("nvmlSystemGetDriverVersion");
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, void** device) {
  *device = &starts;
  return strcmp(pci_bus_id, "0000:0A:00.0") == 0 ? status_of("nvmlDeviceGetHandleByPciBusId_v2")
                                                 : 6;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &starts;
  return strcmp(uuid, "GPU-0123") == 0 ? status_of("nvmlDeviceGetHandleByUUID") : 6;
}

int nvmlDeviceGetUUID(void* /*device*/, char* uuid, unsigned length) {
  snprintf(uuid, length, "GPU-0123");
  return status_of("nvmlDeviceGetUUID");
}

int nvmlDeviceGetEnforcedPowerLimit(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 700000;
  return status_of("nvmlDeviceGetEnforcedPowerLimit");
}

int nvmlDeviceGetPowerUsage(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 612500;
  return status_of("nvmlDeviceGetPowerUsage");
}

int nvmlDeviceGetTemperature(void* /*device*/, int sensor, unsigned* celsius) {
  *celsius = sensor == 0 ? 54 : 99;
  return status_of("nvmlDeviceGetTemperature");
}

int nvmlDeviceGetEccMode(void* /*device*/, unsigned* current, unsigned* pending) {
  *current = 1;
  *pending = 0;
  return status_of("nvmlDeviceGetEccMode");
}

#ifdef FAKE_NVML_IS_OLD
// An old driver lacks nvmlDeviceGetPersistenceMode too.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*device*/, unsigned long long* bits) {
#else
int nvmlDeviceGetPersistenceMode(void* /*device*/, unsigned* mode) {
  *mode = 0;
  return status_of("nvmlDeviceGetPersistenceMode");
}

int nvmlDeviceGetCurrentClocksEventReasons(void* /*device*/, unsigned long long* bits) {
#endif
  *bits = 0x4 | 0x40 | 0x1000;
  return status_of("nvmlDeviceGetCurrentClocksEventReasons");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
