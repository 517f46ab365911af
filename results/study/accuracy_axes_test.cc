#include "results/study/accuracy_axes.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(AccuracyAxes, AverageTheProblemsOfEachValue) {
  EXPECT_EQ(format_accuracy_axes(sample_run(), {}),
            "rel_l1 % of o along each axis, pass fwd: the mean over the others\n"
            "\n"
            "axis       value  FP16-ACC  FP32-ACC  unfused-fp16\n"
            "--------  ------  --------  --------  ------------\n"
            "seqlen_q     128     0.160    0.0400        0.0800\n"
            "seqlen_q     200    0.0400    0.0100        0.0200\n"
            "mask        full     0.160    0.0400        0.0800\n"
            "mask      causal    0.0400    0.0100        0.0200\n");
}

TEST(AccuracyAxes, SortNumbersAsNumbers) {
  RunRecord run = sample_run();
  for (std::size_t i = 0; i < 3; ++i) run.cases[i].problem.seqlen_q = 1024;
  for (std::size_t i = 0; i < 3; ++i) {
    run.cases.push_back(run.cases[i]);
    run.cases.back().problem.dropout_p = 0.0f;
    run.cases.back().accuracy->rel_l1 *= 3.0;
  }
  const std::string table = format_accuracy_axes(run, {});
  const std::size_t shorter = table.find("seqlen_q     200    0.0400    0.0100        0.0200\n");
  const std::size_t longer = table.find("seqlen_q    1024     0.320    0.0800         0.160\n");
  ASSERT_NE(longer, std::string::npos) << table;
  EXPECT_LT(shorter, longer) << table;
  EXPECT_NE(table.find("dropout        0     0.480     0.120         0.240\n"), std::string::npos)
      << table;
}

TEST(AccuracyAxes, HaveABlockPerGradient) {
  const std::string table = format_accuracy_axes(sample_backward_run(), {});
  for (const char* output : {"dq", "dk", "dv"}) {
    EXPECT_NE(table.find("rel_l1 % of " + std::string(output) + " along each axis, pass bwd"),
              std::string::npos)
        << table;
  }
}

TEST(AccuracyAxes, AreEmptyForOneProblemAndForNone) {
  RunRecord run = sample_run();
  run.cases.resize(3);
  EXPECT_EQ(format_accuracy_axes(run, {}), "");
  EXPECT_EQ(format_accuracy_axes(RunRecord(), {}), "");
}

}  // namespace
}  // namespace sparkbench
