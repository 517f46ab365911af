#include "results/study/accuracy_breaks.h"

#include <gtest/gtest.h>

#include <limits>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord case_at(const CaseRecord& base, int scale, double rel_l1, std::uint64_t nonfinite) {
  CaseRecord record = base;
  record.problem.input = "normal";
  record.problem.input_scale = scale;
  record.accuracy->rel_l1 = rel_l1;
  record.accuracy->nonfinite = nonfinite;
  return record;
}

/// One problem at scales 1 to 16 for all three kernels: FP16-ACC breaks both ways, FP32-ACC
/// neither; at 16 the inputs overflow.
RunRecord growing_run() {
  const RunRecord sample = sample_run();
  const CaseRecord &fp32 = sample.cases[0], &fp16 = sample.cases[1], &unfused = sample.cases[2];
  RunRecord run = sample;
  run.cases.clear();
  for (const int scale : {8, 4, 2, 1}) {  // not in order: the smallest must be found
    run.cases.push_back(case_at(fp32, scale, 0.0003, 0));
    run.cases.push_back(
        case_at(fp16, scale, scale >= 8 ? 0.0 : 0.0008 * scale, scale >= 8 ? 5 : 0));
    run.cases.push_back(case_at(unfused, scale, scale == 8 ? 0.00201 : 0.002, 0));
  }
  for (const CaseRecord& kernel : {fp32, fp16, unfused}) {
    run.cases.push_back(case_at(kernel, 16, 0.0, 0));
    run.cases.back().accuracy.reset();
    run.cases.back().status = Status::kSkipped;
    run.cases.back().reason = Reason{"E-INPUT-OVERFLOW", "an input is not finite"};
  }
  return run;
}

TEST(AccuracyBreaks, AreTheFirstScalesBeyondEachLimit) {
  EXPECT_EQ(format_accuracy_breaks(growing_run(), {}),
            "Where o breaks, pass fwd, input normal: the first input_scale, of 5 from 1 to 16; '-' "
            "is none\n"
            "\n"
            "head_dim  breaks by       FP16-ACC  FP32-ACC  unfused-fp16  inputs overflow\n"
            "--------  --------------  --------  --------  ------------  ---------------\n"
            "      64  rel_l1 > 0.2 %         4         -             8               16\n"
            "      64  not finite             8         -             -               16\n");
}

TEST(AccuracyBreaks, CountANanAsAboveTheLimit) {
  RunRecord run = growing_run();
  const AccuracyStudy study = study_accuracy(run).at(0);
  const std::string kernel = run.cases[0].kernel;
  EXPECT_EQ(find_break(run, study, kernel, 64).above_limit, std::nullopt);
  run.cases[0].accuracy->rel_l1 = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(find_break(run, study, kernel, 64).above_limit, 8);
  EXPECT_EQ(find_break(run, study, kernel, 128).above_limit, std::nullopt);
}

TEST(AccuracyBreaks, LeaveTheStudyItselfToTheSmallestScale) {
  const std::vector<AccuracyStudy> studies = study_accuracy(growing_run());
  ASSERT_EQ(studies.size(), 1u);
  EXPECT_EQ(studies[0].input, "normal");
  for (const StudiedKernel& kernel : studies[0].kernels) {
    ASSERT_EQ(kernel.cases.size(), 1u);
    EXPECT_EQ(kernel.cases[0].problem.input_scale, 1);
  }
}

TEST(AccuracyBreaks, AreEmptyForInputsOfOneScale) {
  EXPECT_EQ(format_accuracy_breaks(sample_run(), {}), "");
  EXPECT_EQ(format_accuracy_breaks(RunRecord(), {}), "");
}

}  // namespace
}  // namespace sparkbench
