#include "results/study/diff_text.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

RunRecord timed_run(double ms) {
  RunRecord run = sample_run();
  run.run.complete = true;
  run.cases = {sample_timed_case()};
  run.cases[0].status = Status::kOk;
  run.cases[0].time_ms->median = ms;
  run.cases[0].time_ms->samples = {ms, ms, ms};
  run.cases[0].clock_mhz->samples = {1500, 1500, 1500};
  return run;
}

std::string text_of_diff(const RunRecord& first, const RunRecord& second) {
  return format_diff(diff_runs(first, second, {}), false);
}

TEST(DiffText, ShowsWhatDiffersAndWhatToDo) {
  RunRecord second = timed_run(2);
  second.build.git_sha = "abc";
  second.run.complete = false;
  const std::string text = text_of_diff(timed_run(1), second);
  for (const char* const part :
       {"build.git_sha is null and abc\n", "the second run is not complete\n", "+100.00", "1 slow;",
        "takes 2.000 times as long and 2.000 times the cycles", "\nslow: run it again on both",
        "\n  sparkbench run --kernel volta-fp32acc"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

TEST(DiffText, OfEqualRunsIsOneLine) {
  EXPECT_EQ(text_of_diff(timed_run(1), timed_run(1)),
            "1 same; the second run takes 1.000 times as long and 1.000 times the cycles "
            "(geometric mean).\n");
}

TEST(DiffText, TellsHowFarPredictionsWereOff) {
  RunRecord first = timed_run(1), second = timed_run(1.002);
  second.cases[0].predicted = sample_predicted_case().predicted;
  EXPECT_EQ(
      text_of_diff(first, second),
      "1 same; the second run takes 1.002 times as long and 1.002 times the cycles "
      "(geometric mean).\n"
      "second run: measured over predicted (cycle model): 1.25 (geometric mean of 1 case, 1.25 "
      "to 1.25), 0 within the band; furthest off is "
      "volta-fp32acc/fwd/b1/h2/sq128/sk128/d64/causal/p0.1 (1.25)\n");
}

TEST(DiffText, TellsWhatIsInDoubt) {
  RunRecord first = timed_run(1), second = timed_run(1);
  for (RunRecord* run : {&first, &second}) run->environment.device.kind = DeviceKind::kGpu;
  first.environment.device.uuid = "GPU-1";
  second.environment.device.uuid = "GPU-2";
  const std::string text = text_of_diff(first, second);
  EXPECT_NE(text.find("in doubt: environment.device.uuid is GPU-1 and GPU-2\n"), std::string::npos)
      << text;
}

TEST(DiffText, NamesTheCaseThatFailedWithItsReason) {
  RunRecord second = timed_run(1);
  second.cases[0].status = Status::kFailed;
  second.cases[0].reason = Reason{"E-LAUNCH", "misaligned address"};
  const std::string text = text_of_diff(timed_run(1), second);
  EXPECT_NE(text.find("failed (E-LAUNCH: misaligned address)"), std::string::npos) << text;
  EXPECT_NE(text.find("\n1 failed.\nfailed: run it alone"), std::string::npos) << text;
}

TEST(DiffText, ShowsAllWhenAsked) {
  const RunDiff diff = diff_runs(timed_run(1), timed_run(1), {});
  EXPECT_NE(format_diff(diff, true).find("+0.00"), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
