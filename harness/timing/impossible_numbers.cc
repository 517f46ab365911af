#include "harness/timing/impossible_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/timing/gpu_peaks.h"

namespace sparkbench {
namespace {

std::optional<double> most_tflops(const DeviceInfo& device, const CaseRecord& record) {
  const auto flops_per_clock = device.sm ? tensor_flops_per_clock(*device.sm) : std::nullopt;
  if (!flops_per_clock || !device.sm_count || !device.sm_clock_max_mhz) return std::nullopt;
  const double clock_mhz =
      std::max(*device.sm_clock_max_mhz, record.clock_mhz ? record.clock_mhz->max : 0.0);
  return *flops_per_clock * *device.sm_count * clock_mhz * 1e-6;
}

/// Bytes that memory must have transferred, whatever the cache held.
double bytes_of_memory(const DeviceInfo& device, const CaseRecord& record) {
  const std::uint64_t cached = 2 * device.l2_bytes.value_or(0);
  return record.bytes > cached ? static_cast<double>(record.bytes - cached) : 0.0;
}

void flag(std::string code, std::string message, double value, CaseRecord& record) {
  record.valid = false;
  record.warnings.push_back({std::move(code), std::move(message), value});
}

}  // namespace

void flag_impossible(const DeviceInfo& device, std::optional<double> least_ms, CaseRecord& record) {
  const double ms = record.time_ms->median;
  if (least_ms && !(ms > *least_ms)) {
    flag("W-BELOW-EMPTY-KERNEL",
         fmt::format("took no longer than a kernel that does nothing, {:.3g} ms", *least_ms), ms,
         record);
  }
  const double tflops = static_cast<double>(record.flops) / ms * 1e-9;
  if (const auto most = most_tflops(device, record); most && !(tflops <= *most)) {
    flag("W-ABOVE-PEAK-RATE",
         fmt::format("{:.4g} TFLOP/s, and the tensor cores do {:.4g} at most", tflops, *most),
         tflops, record);
  }
  const double gbps = bytes_of_memory(device, record) / ms * 1e-6;
  if (device.peak_gbps && !(gbps <= *device.peak_gbps)) {
    flag("W-ABOVE-PEAK-BANDWIDTH",
         fmt::format("{:.4g} GB/s beyond the cache, and the memory does {:.4g} at most", gbps,
                     *device.peak_gbps),
         gbps, record);
  }
}

}  // namespace sparkbench
