#include "harness/cases/case_cost.h"

#include <algorithm>

#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

constexpr double kHostFlopsPerSecond = 1e9;  // of two cores: emulator, fp64 and unfused reference
constexpr double kHostSeconds = 0.03;        // inputs, buffers, the record on the disk
constexpr double kPeakFraction = 1.0 / 3;    // that an attention kernel is assumed to reach
constexpr double kUnknownTflops = 10, kUnknownGbps = 300;  // of a chip that is not in the table
constexpr int kVerifyingLaunches = 3;

}  // namespace

CaseCost::CaseCost(const Device& device, const TimingOptions& timing,
                   const std::vector<CaseRecord>& measured)
    : device_(device.info()), timing_(timing) {
  const CheckBudget budget = device.check_budget();
  const bool is_gpu = device_.kind == DeviceKind::kGpu;
  host_flops_ = is_gpu ? budget.oracle_flops : budget.emulate_flops;
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
  const double host = kHostSeconds + std::min(static_cast<double>(planned.flops), host_flops_) /
                                         kHostFlopsPerSecond;
  if (device_.kind != DeviceKind::kGpu) return host;
  const double launch = launch_seconds(planned);
  if (!timing_.is_wanted) return host + kVerifyingLaunches * launch;
  return host + kVerifyingLaunches * launch + sampling_seconds(launch);
}

double CaseCost::sampling_seconds(double launch) const {
  const int samples = std::max(timing_.min_samples, timing_.min_blocks * timing_.block_samples);
  return timing_.warmup_ms * 1e-3 + std::clamp(samples * launch / timing_.duty_cycle,
                                               timing_.min_seconds, timing_.max_seconds);
}

double CaseCost::launch_seconds(const CaseRecord& planned) const {
  const double flops_per_second = device_.peak_tflops.value_or(kUnknownTflops) * 1e12;
  const double bytes_per_second = device_.peak_gbps.value_or(kUnknownGbps) * 1e9;
  return std::max(static_cast<double>(planned.flops) / flops_per_second,
                  static_cast<double>(planned.bytes) / bytes_per_second) /
         kPeakFraction;
}

}  // namespace sparkbench
