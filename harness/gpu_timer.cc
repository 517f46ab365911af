#include "harness/gpu_timer.h"

#include <array>
#include <chrono>

#include "harness/statistics.h"

namespace sparkbench {
namespace {

constexpr int kBatch = 10;
constexpr std::size_t kMaxSamples = 1000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

GpuTimer::GpuTimer(std::size_t l2_bytes) : flush_(2 * l2_bytes) {}

void GpuTimer::warm_up(const CudaStream& stream, const std::function<void()>& launch,
                       double warmup_ms) {
  const auto start = std::chrono::steady_clock::now();
  do {
    launch();
    stream.synchronize();
  } while (seconds_since(start) * 1e3 < warmup_ms);
}

void GpuTimer::sample_batch(const CudaStream& stream, const std::function<void()>& launch,
                            bool flushes_l2, std::vector<double>& samples_ms) {
  std::array<CudaEvent, kBatch> start, stop;
  for (int i = 0; i < kBatch; ++i) {
    if (flushes_l2) {
      CUDA_CHECK(cudaMemsetAsync(flush_.as<void>(), i, flush_.bytes(), stream.get()));
    }
    start[i].record(stream);
    launch();
    stop[i].record(stream);
  }
  stream.synchronize();
  for (int i = 0; i < kBatch; ++i) {
    float elapsed_ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&elapsed_ms, start[i].get(), stop[i].get()));
    samples_ms.push_back(elapsed_ms);
  }
}

Timing GpuTimer::time(const CudaStream& stream, const std::function<void()>& launch,
                      const TimingOptions& options) {
  warm_up(stream, launch, options.warmup_ms);
  Timing timing;
  const auto begin = std::chrono::steady_clock::now();
  while (timing.stop_reason.empty()) {
    sample_batch(stream, launch, options.flushes_l2, timing.samples_ms);
    const std::size_t count = timing.samples_ms.size();
    if (count < static_cast<std::size_t>(options.min_samples)) continue;
    if (relative_standard_error(timing.samples_ms) <= options.max_noise) {
      timing.stop_reason = "noise";
    } else if (seconds_since(begin) > options.max_seconds) {
      timing.stop_reason = "time";
    } else if (count >= kMaxSamples) {
      timing.stop_reason = "samples";
    }
  }
  return timing;
}

}  // namespace sparkbench
