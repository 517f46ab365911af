#include "harness/plan/case_cost.h"

#include <algorithm>

#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr double kHostFlopsPerSecond = 1e9;  // on two cores: emulator, fp64 and unfused reference
constexpr double kHostSeconds = 0.03;        // buffers, and writing the record to disk
constexpr double kHostBytesPerSecond = 1e8;  // inputs, generated one by one
constexpr double kPeakFraction = 1.0 / 3;    // assumed for an attention kernel
constexpr double kUnknownTflops = 10, kUnknownGbps = 300;  // for a chip outside the table
constexpr int kVerifyingLaunches = 3;

}  // namespace

CaseCost::CaseCost(const Device& device, const Workloads& workloads, const Method& method,
                   const std::vector<CaseRecord>& measured)
    : device_(device.info()), workloads_(workloads), method_(method) {
  std::vector<double> corrections;
  for (const CaseRecord& record : measured) {
    if (record.elapsed_s && record.status != Status::kFailed) {
      corrections.push_back(*record.elapsed_s / rule(record));
    }
  }
  const auto mean = geometric_mean(corrections);
  is_corrected_ = mean.has_value();
  correction_ = mean.value_or(1);
}

double CaseCost::seconds(const CaseRecord& planned) const {
  return is_attempted(planned) ? correction_ * rule(planned) : 0;
}

double CaseCost::rule(const CaseRecord& planned) const {
  const double host = kHostSeconds + static_cast<double>(planned.bytes) / kHostBytesPerSecond +
                      workloads_.of(planned.problem).host_flops(planned) / kHostFlopsPerSecond;
  if (device_.kind != DeviceKind::kGpu) return host;
  const double launch = launch_seconds(planned);
  if (!is_timed(method_)) return host + kVerifyingLaunches * launch;
  return host + kVerifyingLaunches * launch + sampling_seconds(launch);
}

double CaseCost::sampling_seconds(double launch) const {
  const int samples = std::max(*method_.min_samples, method_.min_blocks * *method_.block_samples);
  return *method_.warmup_ms * 1e-3 + std::clamp(samples * launch / *method_.duty_cycle,
                                                *method_.min_seconds, *method_.max_seconds);
}

double CaseCost::launch_seconds(const CaseRecord& planned) const {
  const double flops_per_second = device_.peak_tflops.value_or(kUnknownTflops) * 1e12;
  const double bytes_per_second = device_.peak_gbps.value_or(kUnknownGbps) * 1e9;
  return std::max(static_cast<double>(planned.flops) / flops_per_second,
                  static_cast<double>(planned.bytes) / bytes_per_second) /
         kPeakFraction;
}

}  // namespace sparkbench
