// Tests the timer's accuracy on this machine's GPU, and that nothing can hang it. A hold that
// nobody releases serves as a kernel of known duration.
#include "harness/timing/gpu_timer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "harness/devices/gpu_device.h"
#include "results/study/statistics.h"

namespace sparkbench {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t kL2Bytes = 64 << 20;
constexpr int kSmCount = 64;

Method few_samples() {
  Method method;
  method.warmup_ms = 1;
  method.min_samples = 10;
  method.max_samples = 10;
  method.block_samples = 5;
  return method;
}

class GpuTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no CUDA device";
    timer_.emplace(kL2Bytes, kSmCount);
    flag_.emplace();
  }

  const CudaStream& stream() const { return timer_->stream(); }

  /// A kernel that takes this long.
  Launch spin(microseconds duration) {
    return [this, duration] {
      enqueue_hold(stream().get(), flag_->on_gpu(), flag_->done_on_gpu(), flag_->next_ticket(),
                   static_cast<std::uint64_t>(duration.count()) * 1000);
    };
  }
  Launch empty() {
    return [this] { enqueue_empty_kernel(stream().get()); };
  }
  std::vector<Timing> time(const std::vector<Launch>& launches, const Method& method) {
    return timer_->time(launches, method);
  }
  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  std::optional<GpuTimer> timer_;
  std::optional<GpuHoldFlag> flag_;
};

TEST_F(GpuTimerTest, MeasuresAKernelOfAKnownDuration) {
  const auto timings = time({spin(microseconds(1000)), spin(microseconds(300))}, few_samples());
  EXPECT_NEAR(median_of(timings[0].samples_ms), 1.0, 0.01);
  EXPECT_NEAR(median_of(timings[1].samples_ms), 0.3, 0.01);
  EXPECT_EQ(timings[0].samples_ms.size(), timings[1].samples_ms.size());
  EXPECT_TRUE(timings[0].is_held);
}

TEST_F(GpuTimerTest, KeepsLaunchingOutOfTheTime) {
  const auto slow_launch = [this] {
    enqueue_empty_kernel(stream().get());
    std::this_thread::sleep_for(milliseconds(2));
    enqueue_empty_kernel(stream().get());
  };
  Method method = few_samples();
  EXPECT_LT(median_of(time({slow_launch}, method)[0].samples_ms), 0.1);
  method.held = false;
  EXPECT_GT(median_of(time({slow_launch}, method)[0].samples_ms), 1.9);
}

TEST_F(GpuTimerTest, ReadsAClockThatACardCanHave) {
  const Timing timing = time({spin(microseconds(1000))}, few_samples())[0];
  ASSERT_EQ(timing.clocks_mhz.size(), timing.samples_ms.size());
  const double highest_mhz = open_gpu(0)->info().sm_clock_max_mhz.value();
  for (const std::optional<double>& clock : timing.clocks_mhz) {
    ASSERT_TRUE(clock.has_value());
    EXPECT_GT(*clock, 100);
    EXPECT_LT(*clock, 1.05 * highest_mhz);
  }
}

TEST_F(GpuTimerTest, TellsWhatAKernelThatDoesNothingTakes) {
  const Timing timing = time({empty()}, few_samples())[0];
  EXPECT_GT(timing.least_ms.value(), 0);
  EXPECT_LT(timing.least_ms.value(), 0.1);
}

TEST_F(GpuTimerTest, TimesWithoutAHoldWhatWaits) {
  const auto start = std::chrono::steady_clock::now();
  const auto waits = [this] {
    enqueue_empty_kernel(stream().get());
    stream().synchronize();
  };
  const Timing timing = time({waits}, few_samples())[0];
  EXPECT_FALSE(timing.is_held);
  EXPECT_EQ(timing.samples_ms.size(), 10u);
  EXPECT_LT(seconds_since(start), 5);
}

TEST_F(GpuTimerTest, EndsWithMoreLaunchesThanAStreamQueues) {
  const auto many = [this] {
    for (int i = 0; i < 5000; ++i) enqueue_empty_kernel(stream().get());
  };
  EXPECT_EQ(time({many}, few_samples())[0].samples_ms.size(), 10u);
}

TEST_F(GpuTimerTest, ReleasesTheStreamWhenALaunchThrows) {
  const auto fails = []() -> void { throw std::runtime_error("cannot be launched"); };
  EXPECT_THROW(time({fails}, few_samples()), std::runtime_error);
  { const GpuHold hold(stream(), *flag_, {hours(1), hours(1)}); }
  stream().synchronize();
}

TEST_F(GpuTimerTest, HoldEndsByItselfWhenNobodyReleasesIt) {
  const auto start = std::chrono::steady_clock::now();
  const GpuHold hold(stream(), *flag_, {hours(1), milliseconds(50)});
  stream().synchronize();
  EXPECT_GT(seconds_since(start), 0.049);
  EXPECT_LT(seconds_since(start), 1);
  EXPECT_FALSE(hold.was_kept());
}

TEST_F(GpuTimerTest, HoldIsEndedByAHostThatWaits) {
  const auto start = std::chrono::steady_clock::now();
  const GpuHold hold(stream(), *flag_, {milliseconds(50), hours(1)});
  stream().synchronize();
  EXPECT_GT(seconds_since(start), 0.049);
  EXPECT_LT(seconds_since(start), 1);
  EXPECT_FALSE(hold.was_kept());
}

TEST_F(GpuTimerTest, HoldKeepsOtherStreamsFromRunning) {
  const CudaStream other;
  const CudaEvent done;
  GpuHold hold(stream(), *flag_);
  std::this_thread::sleep_for(milliseconds(10));  // until it runs
  enqueue_empty_kernel(other.get());
  done.record(other);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(cudaEventQuery(done.get()), cudaErrorNotReady);
  hold.release();
  other.synchronize();
  stream().synchronize();
  EXPECT_TRUE(hold.was_kept());
}

TEST_F(GpuTimerTest, TellsSamplesThatFailTheirCheck) {
  int samples = 0, enqueued = 0;
  const SampleCheck fails_every_third{
      [&] { ++enqueued; }, [&] { ++enqueued; },
      [&] { return ++samples % 3 == 0 ? "element " + std::to_string(samples) : std::string(); }};
  const std::vector<Launch> launches = {empty(), empty()};
  const std::vector<SampleCheck> checks = {{}, fails_every_third};
  const auto timings = timer_->time(launches, few_samples(), checks);
  EXPECT_EQ(timings[0].checked, std::nullopt);
  EXPECT_EQ(timings[1].checked, 10);
  EXPECT_EQ(timings[1].wrong, 3);
  EXPECT_EQ(timings[1].first_wrong, "element 3");
  EXPECT_EQ(enqueued, 20);
}

TEST_F(GpuTimerTest, HoldThatIsReleasedInTimeWasKept) {
  GpuHold hold(stream(), *flag_);
  enqueue_empty_kernel(stream().get());
  EXPECT_EQ(cudaStreamQuery(stream().get()), cudaErrorNotReady);
  hold.release();
  stream().synchronize();
  EXPECT_TRUE(hold.was_kept());
}

}  // namespace
}  // namespace sparkbench
