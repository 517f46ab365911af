// The part of NVML's C interface that nvml.cc calls.
#pragma once

#include <array>
#include <string_view>

struct nvmlDevice_st;

namespace sparkbench::nvml {

using Device = nvmlDevice_st*;

inline constexpr int kSuccess = 0;
inline constexpr int kTemperatureOfGpu = 0;
inline constexpr unsigned kTextBytes =
    96;  // enough for every text: NVML_DEVICE_UUID_V2_BUFFER_SIZE

/// nvmlClocksEventReason*: name of the bit at this position.
inline constexpr std::array<std::string_view, 9> kThrottleReasons = {"gpu_idle",
                                                                     "applications_clocks_setting",
                                                                     "sw_power_cap",
                                                                     "hw_slowdown",
                                                                     "sync_boost",
                                                                     "sw_thermal_slowdown",
                                                                     "hw_thermal_slowdown",
                                                                     "hw_power_brake_slowdown",
                                                                     "display_clock_setting"};

// Each returns an nvmlReturn_t unless noted.
using Init = int();
using Shutdown = int();
using ErrorString = const char*(int status);
using DriverVersion = int(char* version, unsigned length);
using HandleByPciBusId = int(const char* pci_bus_id, Device* device);
using Uuid = int(Device device, char* uuid, unsigned length);
using Milliwatts = int(Device device, unsigned* milliwatts);
using Temperature = int(Device device, int sensor, unsigned* celsius);
using EccMode = int(Device device, unsigned* current, unsigned* pending);
using PersistenceMode = int(Device device, unsigned* mode);
using ClocksEventReasons = int(Device device, unsigned long long* bits);

}  // namespace sparkbench::nvml
