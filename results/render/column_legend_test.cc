#include "results/render/column_legend.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

RunRecord run_of(std::vector<CaseRecord> cases) {
  RunRecord run;
  run.cases = std::move(cases);
  return run;
}

TEST(ColumnLegend, ExplainsWhatIsShownAlone) {
  const RunRecord run = run_of({sample_timed_case()});
  EXPECT_EQ(legend_of({"kernel", "time_ms"}, run), "");
  EXPECT_EQ(legend_of({"speedup"}, run), "speed-up is over cublas-fp16\n");
  EXPECT_EQ(
      legend_of({"error_over_unfused"}, run),
      "error/unfused is rel_l2 over that of the unfused computation with FP32 accumulators\n");
  EXPECT_EQ(legend_of({"unfused_memory"}, run),
            "unfused memory is predicted, of the unfused computation in fp16\n");
}

TEST(ColumnLegend, NamesEveryReferenceOfSpeedups) {
  RunRecord run = run_of({sample_timed_case(), sample_timed_case()});
  run.cases[1].speedup->over = "torch-unfused";
  EXPECT_EQ(legend_of({"speedup"}, run), "speed-up is over cublas-fp16 or torch-unfused\n");
}

TEST(ColumnLegend, TellsThePeakThatAShareIsOf) {
  RunRecord run = run_of({sample_timed_case()});
  EXPECT_EQ(legend_of({"peak"}, run), "");
  run.environment.device.peak_tflops = 125;
  EXPECT_EQ(legend_of({"peak"}, run), "peak % is of the device's 125.0 TFLOP/s\n");
}

TEST(ColumnLegend, ExplainsPredictions) {
  EXPECT_EQ(legend_of({"predicted_ms", "predicted_speedup", "over_predicted"},
                      run_of({sample_predicted_case()})),
            "predicted speed-up is over cublas-fp16\n"
            "measured/predicted is the time over the likely one; outside: of the band\n");
}

TEST(ColumnLegend, SaysWhatOneErrorOfABackwardPassIs) {
  EXPECT_EQ(legend_of({"rel_l2"}, sample_backward_run()),
            "one error for a backward pass is the largest of its gradients'\n");
}

TEST(ColumnLegend, SaysWhatAnOutputThatIsNotFiniteShows) {
  EXPECT_EQ(legend_of({"rel_l1"}, sample_run()), "an output that is not finite has no error: -\n");
}

}  // namespace
}  // namespace sparkbench
