// Times the parts of a pass one by one. Each event between them costs a microsecond or two, so
// their sum exceeds the time of the pass; time_ms is the pass's time.
#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>
#include <thread>

#include "harness/timing/gpu_timer.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

constexpr int kPasses = 11;
constexpr std::size_t kMostCopyBytes = std::size_t{1} << 30;
constexpr std::size_t kLeastCopyBytes = std::size_t{64} << 20;  // larger than any cache

/// Milliseconds between consecutive recorded events.
class EventLaps {
 public:
  explicit EventLaps(const CudaStream& stream) : stream_(stream) { lap(); }

  void lap() { events_.emplace_back().record(stream_); }

  std::vector<double> laps_ms() const {
    std::vector<double> laps;
    for (std::size_t i = 1; i < events_.size(); ++i) {
      float ms = 0;
      CUDA_CHECK(cudaEventElapsedTime(&ms, events_[i - 1].get(), events_[i].get()));
      laps.push_back(ms);
    }
    return laps;
  }

 private:
  const CudaStream& stream_;
  std::deque<CudaEvent> events_;
};

/// As after the samples of a whole pass (alternation.h). Without the rest the card would run into
/// its power limit, and the parts would be slower than the pass.
void rest_after(const std::vector<double>& laps_ms, double duty_cycle) {
  const double busy_ms = std::accumulate(laps_ms.begin(), laps_ms.end(), 0.0);
  std::this_thread::sleep_for(
      std::chrono::duration<double, std::milli>(busy_ms * (1 / duty_cycle - 1)));
}

}  // namespace

std::optional<double> GpuTimer::measure_copy_gbps() {
  const std::size_t bytes = std::min(kMostCopyBytes, free_device_bytes() / 4);
  if (bytes < kLeastCopyBytes) return std::nullopt;
  const DeviceBuffer from(bytes), to(bytes);
  std::vector<double> samples_ms;
  for (int pass = 0; pass <= kPasses; ++pass) {
    EventLaps marks(stream_);
    CUDA_CHECK(cudaMemcpyAsync(to.as<void>(), from.as<void>(), bytes, cudaMemcpyDeviceToDevice,
                               stream_.get()));
    marks.lap();
    stream_.synchronize();
    if (pass > 0) samples_ms.push_back(marks.laps_ms().front());
  }
  return 2.0 * static_cast<double>(bytes) / median_of(samples_ms) * 1e-6;
}

PassParts GpuTimer::time_parts(const LaunchInParts& launch, const Method& method) {
  PassParts parts;
  std::vector<std::vector<double>> samples_ms;  // per part
  launch([&](const UnfusedPart& part) {
    parts.of.push_back({std::string(part.name), 0.0, part.bytes, part.flops, {}, {}});
  });
  stream_.synchronize();
  samples_ms.resize(parts.of.size());
  for (parts.passes = 0; parts.passes < kPasses; ++parts.passes) {
    if (method.cache == "cold") {
      CUDA_CHECK(cudaMemsetAsync(flush_.as<void>(), 0, flush_.bytes(), stream_.get()));
    }
    std::optional<GpuHold> hold;
    if (*method.held) hold.emplace(stream_, hold_flag_);
    EventLaps marks(stream_);
    launch([&](const UnfusedPart& /*part*/) { marks.lap(); });
    if (hold) hold->release();
    stream_.synchronize();
    const std::vector<double> laps = marks.laps_ms();
    for (std::size_t i = 0; i < laps.size(); ++i) samples_ms.at(i).push_back(laps[i]);
    rest_after(laps, *method.duty_cycle);
  }
  parts.copy_gbps = measure_copy_gbps();
  for (std::size_t i = 0; i < parts.of.size(); ++i) {
    PassPart& part = parts.of[i];
    part.ms = median_of(samples_ms[i]);
    if (parts.copy_gbps) {
      part.copy_fraction = static_cast<double>(part.bytes) / part.ms * 1e-6 / *parts.copy_gbps;
    }
  }
  return parts;
}

}  // namespace sparkbench
