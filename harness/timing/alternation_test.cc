#include "harness/timing/alternation.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

/// Candidates with scripted times, and a log of their turns.
class Scene {
 public:
  TakeSample candidate(char name, std::vector<double> ms) {
    return [this, name, ms, next = std::size_t{0}]() mutable {
      const double sample_ms = ms[next++ % ms.size()];
      turns_ += name;
      seconds_ += sample_ms * 1e-3;
      return TimedSample{sample_ms, 1000.0 + static_cast<double>(turns_.size())};
    };
  }
  std::vector<Timing> sample(const std::vector<TakeSample>& candidates, const Method& method) {
    return sample_in_turns(candidates, method,
                           {[this] { return seconds_; },
                            [this](double seconds) {
                              seconds_ += seconds;
                              rested_ += seconds;
                            }});
  }
  const std::string& turns() const { return turns_; }
  double seconds() const { return seconds_; }
  double rested() const { return rested_; }

 private:
  std::string turns_;
  double seconds_ = 0;
  double rested_ = 0;
};

Method small_blocks() {
  Method method;
  method.min_samples = 4;
  method.min_seconds = 0;
  method.max_samples = 8;
  method.block_samples = 2;
  method.min_blocks = 2;
  return method;
}

TEST(SampleInTurns, GivesEveryCandidateABlockAfterTheOther) {
  Scene scene;
  const auto timings =
      scene.sample({scene.candidate('k', {1}), scene.candidate('r', {5})}, small_blocks());
  EXPECT_EQ(scene.turns(), "kkrrkkrr");
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0].samples_ms, std::vector<double>({1, 1, 1, 1}));
  EXPECT_EQ(timings[1].samples_ms, std::vector<double>({5, 5, 5, 5}));
  EXPECT_EQ(timings[1].clocks_mhz[0], 1003.0);
  EXPECT_EQ(timings[0].stop_reason, "noise");
  EXPECT_EQ(timings[1].stop_reason, "noise");
}

TEST(SampleInTurns, GoesOnUntilTheNoisyOneMayStop) {
  Scene scene;
  const auto timings =
      scene.sample({scene.candidate('k', {1}), scene.candidate('r', {5, 6, 8, 9})}, small_blocks());
  EXPECT_EQ(scene.turns(), "kkrrkkrrkkrrkkrr");
  EXPECT_EQ(timings[0].stop_reason, "noise");
  EXPECT_EQ(timings[1].stop_reason, "samples");
}

TEST(SampleInTurns, StopsWithinBlocksOnceEveryoneHadATurn) {
  Scene scene;
  Method method = small_blocks();
  method.max_seconds = 2.5;
  method.duty_cycle = 1;
  const auto timings =
      scene.sample({scene.candidate('k', {3000}), scene.candidate('r', {1000})}, method);
  EXPECT_EQ(scene.turns(), "kr");
  EXPECT_EQ(timings[0].stop_reason, "time");
  EXPECT_EQ(timings[1].stop_reason, "time");
}

TEST(SampleInTurns, RestsAfterSamplesToKeepTheDutyCycle) {
  Scene scene;
  Method method = small_blocks();
  method.duty_cycle = 0.25;
  scene.sample({scene.candidate('k', {1}), scene.candidate('r', {5})}, method);
  EXPECT_EQ(scene.turns(), "kkrrkkrr");
  EXPECT_NEAR(scene.seconds(), 4 * (1 + 5) * 1e-3 / 0.25, 1e-9);
  EXPECT_NEAR(scene.rested(), 0.75 * scene.seconds(), 1e-9);
}

TEST(SampleInTurns, RestsNeverAtAFullDutyCycle) {
  Scene scene;
  Method method = small_blocks();
  method.duty_cycle = 1;
  scene.sample({scene.candidate('k', {1})}, method);
  EXPECT_EQ(scene.rested(), 0);
}

TEST(SampleInTurns, TakesOneCandidateAlone) {
  Scene scene;
  EXPECT_EQ(scene.sample({scene.candidate('k', {1})}, small_blocks())[0].samples_ms.size(), 4u);
  EXPECT_EQ(scene.turns(), "kkkk");
}

TEST(SampleInTurns, ThrowsWhatASampleThrows) {
  Scene scene;
  const TakeSample broken = []() -> TimedSample { throw std::runtime_error("launch failed"); };
  EXPECT_THROW(scene.sample({scene.candidate('k', {1}), broken}, small_blocks()),
               std::runtime_error);
}

}  // namespace
}  // namespace sparkbench
