#include "harness/timing/gpu_peaks.h"

namespace sparkbench {
namespace {

struct NamedPeaks {
  std::string_view name_contains;
  GpuPeaks peaks;
};

// From NVIDIA's data sheets. The first match counts, so longer names come first.
constexpr NamedPeaks kTable[] = {
    {"V100-SXM3", {130, 981}},
    {"V100-SXM2", {125, 900}},
    {"V100-PCIE", {112, 900}},
    {"Tesla T4", {65, 320}},
    {"A100-SXM4-80GB", {312, 2039}},
    {"A100-SXM4-40GB", {312, 1555}},
    {"A100 80GB PCIe", {312, 1935}},
    {"A100-PCIE-40GB", {312, 1555}},
    {"L40S", {362, 864}},
    {"H100 80GB HBM3", {989, 3350}},
    {"H100 PCIe", {756, 2000}},
    {"H200", {989, 4800}},
};

struct SmRate {
  int sm;
  int tensor_flops_per_clock;
};

// NVIDIA's architecture white papers: tensor cores per SM, times FMAs per core, times 2. The data
// sheets' rates are these times the number of SMs and the boost clock; cards may clock higher.
constexpr SmRate kSmRates[] = {
    {70, 1024}, {75, 1024}, {80, 2048}, {86, 1024}, {89, 1024}, {90, 4096},
};

}  // namespace

std::optional<GpuPeaks> gpu_peaks(std::string_view driver_name) {
  for (const NamedPeaks& entry : kTable) {
    if (driver_name.find(entry.name_contains) != std::string_view::npos) return entry.peaks;
  }
  return std::nullopt;
}

std::optional<int> tensor_flops_per_clock(int sm) {
  for (const SmRate& rate : kSmRates) {
    if (rate.sm == sm) return rate.tensor_flops_per_clock;
  }
  return std::nullopt;
}

}  // namespace sparkbench
