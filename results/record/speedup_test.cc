#include "results/record/speedup.h"

#include <gtest/gtest.h>

#include <cmath>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord timed(const std::string& kernel, Role role, double median_ms) {
  CaseRecord record = sample_timed_case();
  record.kernel = kernel;
  record.role = role;
  record.time_ms->median = record.time_ms->mean = median_ms;
  record.time_ms->stdev = 0.03 * median_ms;
  record.speedup.reset();
  return record;
}

TEST(Speedup, IsOverTheBaselineOfTheSameProblem) {
  TimedReferences references;
  CaseRecord baseline = timed("cublas-fp16", Role::kReference, 8.0);
  CaseRecord kernel = timed("volta-fp32acc", Role::kFused, 2.0);
  references.compare(baseline);
  references.compare(kernel);
  EXPECT_FALSE(baseline.speedup.has_value());
  EXPECT_EQ(kernel.speedup.value().over, "cublas-fp16");
  EXPECT_EQ(kernel.speedup->ratio, 4.0);
  EXPECT_EQ(kernel.speedup->over_median_ms, 8.0);
  EXPECT_FALSE(kernel.speedup->interleaved);
  EXPECT_NEAR(kernel.speedup->ratio_stdev.value(), 4.0 * 0.03 * std::sqrt(2.0), 1e-12);
}

TEST(Speedup, IsNotOverAnotherProblemOrDevice) {
  for (int i = 0; i < 5; ++i) {
    TimedReferences references;
    CaseRecord baseline = timed("cublas-fp16", Role::kReference, 8.0);
    if (i == 0) baseline.problem.seqlen_q *= 2;
    if (i == 1) baseline.device = "cuda:0";
    if (i == 2) baseline.accumulator.reset();
    if (i == 3) baseline.valid = false;
    if (i == 4) baseline.status = Status::kIncorrect;
    CaseRecord kernel = timed("volta-fp32acc", Role::kFused, 2.0);
    references.compare(baseline);
    references.compare(kernel);
    EXPECT_FALSE(kernel.speedup.has_value()) << i;
  }
}

TEST(Speedup, ThatWasMeasuredOtherwiseStays) {
  TimedReferences references;
  CaseRecord baseline = timed("cublas-fp16", Role::kReference, 8.0);
  CaseRecord kernel = timed("volta-fp32acc", Role::kFused, 2.0);
  kernel.speedup = Speedup{"cublas-fp16", 3.5, 0.1, 7.0, true};
  references.compare(baseline);
  references.compare(kernel);
  EXPECT_EQ(kernel.speedup->ratio, 3.5);
}

}  // namespace
}  // namespace sparkbench
