#include "harness/timing/gpu_timer.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "harness/timing/alternation.h"

namespace sparkbench {
namespace {

constexpr int kEmptySamples = 5;
constexpr int kHoldAttempts = 2;  // one retry in case the host was busy

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

GpuTimer::GpuTimer(std::size_t l2_bytes, int sm_count) : flush_(2 * l2_bytes), clock_(sm_count) {}

void GpuTimer::warm_up(const Launch& launch, double warmup_ms) const {
  const Stopwatch watch;
  do {
    launch();
    stream_.synchronize();
  } while (watch.seconds() * 1e3 < warmup_ms);
}

std::optional<TimedSample> GpuTimer::try_sample(Timed& timed, bool flushes_l2) {
  clock_.reset(stream_);
  if (timed.check != nullptr) timed.check->before();
  if (flushes_l2) {
    CUDA_CHECK(cudaMemsetAsync(flush_.as<void>(), 0, flush_.bytes(), stream_.get()));
  }
  std::optional<GpuHold> hold;
  if (timed.is_held) hold.emplace(stream_, hold_flag_);
  clock_.start(stream_);
  start_.record(stream_);
  timed.launch();
  stop_.record(stream_);
  clock_.stop(stream_);
  if (timed.check != nullptr) timed.check->after();
  if (hold) hold->release();
  stream_.synchronize();
  if (hold && !hold->was_kept()) return std::nullopt;
  if (timed.check != nullptr) {
    std::string difference = timed.check->difference();
    if (!difference.empty() && timed.wrong++ == 0) timed.first_wrong = std::move(difference);
  }
  float elapsed_ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&elapsed_ms, start_.get(), stop_.get()));
  return TimedSample{elapsed_ms, clock_.mhz()};
}

TimedSample GpuTimer::sample(Timed& timed, bool flushes_l2) {
  for (int attempt = 0; attempt < kHoldAttempts; ++attempt) {
    if (const auto sample = try_sample(timed, flushes_l2)) return *sample;
  }
  timed.is_held = false;
  return try_sample(timed, flushes_l2).value();
}

double GpuTimer::time_empty_kernel(const Method& method) {
  const Launch launch = [this] { enqueue_empty_kernel(stream_.get()); };
  Timed empty{launch, *method.held};
  double least_ms = sample(empty, method.cache == "cold").ms;
  for (int i = 1; i < kEmptySamples; ++i) {
    least_ms = std::min(least_ms, sample(empty, method.cache == "cold").ms);
  }
  return least_ms;
}

std::vector<Timing> GpuTimer::time(std::span<const Launch> launches, const Method& method,
                                   std::span<const SampleCheck> checks) {
  const double least_ms = time_empty_kernel(method);
  std::vector<Timed> timed;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    timed.push_back(
        {launches[i], *method.held, i < checks.size() && checks[i].before ? &checks[i] : nullptr});
  }
  std::vector<TakeSample> take_sample;
  for (Timed& one : timed) {
    warm_up(one.launch, *method.warmup_ms);
    take_sample.push_back([&] { return sample(one, method.cache == "cold"); });
  }
  const Stopwatch watch;
  const auto rest_for = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
  std::vector<Timing> timings =
      sample_in_turns(take_sample, method, {[&watch] { return watch.seconds(); }, rest_for});
  for (std::size_t i = 0; i < timings.size(); ++i) {
    timings[i].is_held = timed[i].is_held;
    timings[i].least_ms = least_ms;
    if (timed[i].check == nullptr) continue;
    timings[i].checked = static_cast<int>(timings[i].samples_ms.size());
    timings[i].wrong = timed[i].wrong;
    timings[i].first_wrong = timed[i].first_wrong;
  }
  return timings;
}

}  // namespace sparkbench
