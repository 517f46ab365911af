#include "results/render/accuracy_table.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(AccuracyTable, HasALinePerMetricAndHeadDim) {
  RunRecord run = sample_run();
  for (std::size_t i = 3; i < 6; ++i) run.cases[i].problem.head_dim = 128;
  EXPECT_EQ(format_accuracy_table(run, {}),
            "Errors of o, pass fwd, on 2 problems, FP16-ACC is volta-fp16acc, FP32-ACC is "
            "volta-fp32acc;\n"
            "error_over_unfused is rel_l2 over that of the unfused computation with FP32 "
            "accumulators\n"
            "\n"
            "metric              head_dim  FP16-ACC  FP32-ACC  unfused-fp16\n"
            "------------------  --------  --------  --------  ------------\n"
            "rel_l1 %                  64     0.160    0.0400        0.0800\n"
            "rel_l1 %                 128    0.0400    0.0100        0.0200\n"
            "worst row rel_l1 %        64     0.480     0.120         0.240\n"
            "worst row rel_l1 %       128     0.120    0.0300        0.0600\n"
            "rel_l2                    64  2.00e-03  5.00e-04      1.00e-03\n"
            "rel_l2                   128  5.00e-04  1.25e-04      2.50e-04\n"
            "mean_rel %                64     0.320    0.0800         0.160\n"
            "mean_rel %               128    0.0800    0.0200        0.0400\n"
            "mean_abs                  64  8.00e-05  2.00e-05      4.00e-05\n"
            "mean_abs                 128  2.00e-05  5.00e-06      1.00e-05\n"
            "max_abs                   64  8.00e-04  2.00e-04      4.00e-04\n"
            "max_abs                  128  2.00e-04  5.00e-05      1.00e-04\n"
            "lse_max_abs               64  1.00e-06  1.00e-06      1.00e-06\n"
            "lse_max_abs              128  1.00e-06  1.00e-06      1.00e-06\n"
            "error_over_unfused        64      2.00     0.500          1.00\n"
            "error_over_unfused       128      2.00     0.500          1.00\n");
}

TEST(AccuracyTable, AveragesMeansAndTakesTheLargestOfMaxima) {
  const std::string table = format_accuracy_table(sample_run(), {});
  EXPECT_NE(table.find("rel_l1 %                  64     0.100    0.0250        0.0500\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("max_abs                   64  8.00e-04  2.00e-04      4.00e-04\n"),
            std::string::npos)
      << table;
}

TEST(AccuracyTable, HasNoMeanOverWhatIsNotFinite) {
  RunRecord run = sample_run();
  run.cases[0].accuracy->nonfinite = 1;
  bring_up_to_date(run.cases[0]);
  const std::string table = format_accuracy_table(run, {});
  for (const char* line : {"rel_l1 %                  64     0.100         -        0.0500\n",
                           "max_abs                   64  8.00e-04         -      4.00e-04\n",
                           "lse_max_abs               64  1.00e-06         -      1.00e-06\n",
                           "error_over_unfused        64      2.00         -          1.00\n",
                           "a mean over outputs of which one is not finite is none: -\n"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << table;
  }
}

TEST(AccuracyTable, SaysWhatASampleTells) {
  RunRecord run = sample_run();
  EXPECT_EQ(format_accuracy_table(run, {}).find("of sampled rows"), std::string::npos);
  run.cases[0].accuracy->weighted = true;
  EXPECT_NE(format_accuracy_table(run, {}).find("\nof sampled rows means are weighted"),
            std::string::npos);
}

/// Records of earlier versions lack it.
TEST(AccuracyTable, HasADashForAnUnknownWorstRow) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) {
    if (record.accuracy) record.accuracy->worst_row_rel_l1.reset();
  }
  const std::string table = format_accuracy_table(run, {});
  EXPECT_NE(table.find("worst row rel_l1 %        64         -         -             -\n"),
            std::string::npos)
      << table;
}

TEST(AccuracyTable, HasABlockPerGradientWithoutAnLse) {
  const std::string table = format_accuracy_table(sample_backward_run(), {});
  const std::size_t dq = table.find("Errors of dq, pass bwd, on 2 problems, FP16-ACC is");
  const std::size_t dk = table.find("\n\nErrors of dk, pass bwd, on 2 problems, FP16-ACC is");
  const std::size_t dv = table.find("\n\nErrors of dv, pass bwd, on 2 problems, FP16-ACC is");
  EXPECT_EQ(dq, 0u) << table;
  ASSERT_LT(dk, dv) << table;
  ASSERT_LT(dv, table.size()) << table;
  EXPECT_NE(table.substr(dk, dv - dk)
                .find("\nrel_l1 %                  64     0.200    0.0500         0.100"
                      "\n"),
            std::string::npos)
      << table;
  EXPECT_EQ(table.find("lse_max_abs"), std::string::npos) << table;
}

TEST(AccuracyTable, IsEmptyWhenNothingWasVerified) {
  EXPECT_EQ(format_accuracy_table(RunRecord(), {}), "");
}

}  // namespace
}  // namespace sparkbench
