#include "harness/timing/gpu_clock.h"

#include <vector>

#include "results/study/statistics.h"

namespace sparkbench {
namespace {

constexpr double kWorstDoubt = 0.05;

double read_timer_step_ns() {
  const DeviceBuffer step(sizeof(std::uint64_t));
  enqueue_timer_step(nullptr, step.as<std::uint64_t>());
  std::uint64_t ns = 0;
  CUDA_CHECK(cudaMemcpy(&ns, step.as<void>(), sizeof(ns), cudaMemcpyDeviceToHost));
  return static_cast<double>(ns);
}

}  // namespace

GpuClock::GpuClock(int sm_count)
    : sm_count_(sm_count),
      stamps_(2 * static_cast<std::size_t>(sm_count) * sizeof(ClockStamp)),
      timer_step_ns_(read_timer_step_ns()) {}

void GpuClock::reset(const CudaStream& stream) {
  CUDA_CHECK(cudaMemsetAsync(stamps_.as<void>(), 0, stamps_.bytes(), stream.get()));
}

void GpuClock::start(const CudaStream& stream) {
  enqueue_clock_stamps(stream.get(), stamps_.as<ClockStamp>(), sm_count_);
}

void GpuClock::stop(const CudaStream& stream) {
  enqueue_clock_stamps(stream.get(), stamps_.as<ClockStamp>() + sm_count_, sm_count_);
}

std::optional<double> GpuClock::mhz() const {
  std::vector<ClockStamp> stamps(2 * static_cast<std::size_t>(sm_count_));
  CUDA_CHECK(
      cudaMemcpy(stamps.data(), stamps_.as<void>(), stamps_.bytes(), cudaMemcpyDeviceToHost));
  std::vector<double> readings;
  for (int sm = 0; sm < sm_count_; ++sm) {
    const ClockStamp &start = stamps[sm], &stop = stamps[sm_count_ + sm];
    if (start.is_set == 0 || stop.is_set == 0) continue;
    const auto ns = static_cast<double>(stop.ns - start.ns);
    if (!(timer_step_ns_ <= kWorstDoubt * ns)) continue;
    readings.push_back(1e3 * static_cast<double>(stop.cycles - start.cycles) / ns);
  }
  if (readings.empty()) return std::nullopt;
  return median_of(readings);
}

}  // namespace sparkbench
