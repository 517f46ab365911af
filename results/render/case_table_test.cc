#include "results/render/case_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

std::string terminal_table(const RunRecord& run) {
  return format_case_table(run, TableStyle::kTerminal);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CaseTable, ShowsWhatVariesBelowTheConstants) {
  EXPECT_EQ(
      terminal_table(sample_run()),
      "V100 (emulated, volta arithmetic), pass fwd, head_dim 64, seqlen_k = seqlen_q, dropout 0.1, "
      "batch 1, heads 2\n"
      "error_over_unfused is rel_l2 over that of the unfused computation with FP32 accumulators\n"
      "an output that is not finite has no error: -\n"
      "\n"
      "kernel         seqlen_q    mask    memory  rel_l1 %    rel_l2   max_abs  "
      "error_over_unfused  status\n"
      "-------------  --------  ------  --------  --------  --------  --------  "
      "------------------  ---------\n"
      "volta-fp32acc       128    full   129 KiB    0.0400  5.00e-04  2.00e-04  "
      "             0.500  ok\n"
      "volta-fp16acc       128    full   129 KiB     0.160  2.00e-03  8.00e-04  "
      "              2.00  ok\n"
      "unfused-fp16        128    full   129 KiB    0.0800  1.00e-03  4.00e-04  "
      "              1.00  ok\n"
      "volta-fp32acc       200  causal   202 KiB    0.0100  1.25e-04  5.00e-05  "
      "             0.500  ok\n"
      "volta-fp16acc       200  causal   202 KiB    0.0400  5.00e-04  2.00e-04  "
      "              2.00  ok\n"
      "unfused-fp16        200  causal   202 KiB    0.0200  2.50e-04  1.00e-04  "
      "              1.00  ok\n"
      "volta-fp16acc     16384    full  16.1 MiB         -         -         -  "
      "                 -  skipped\n"
      "volta-fp16acc       256    full   258 KiB         -         -         -  "
      "                 -  failed\n"
      "volta-fp16acc        64    full  64.5 KiB         -         -         -  "
      "                 -  incorrect\n");
}

/// The emulated sample, a problem of it, with predictions of a kernel and of the baseline.
RunRecord predicted_run() {
  RunRecord run = sample_run();
  run.cases.resize(3);
  run.cases[0].predicted = sample_predicted_case().predicted;
  run.cases[0].predicted->speedup->over = "unfused-fp16";
  run.cases[2].predicted = Prediction{.chip = "V100-SXM2",
                                      .basis = std::string(kPredictedByRates),
                                      .time_ms = {5.5, 5.8, 6.65},
                                      .tflops = 12,
                                      .binding = "hbm"};
  return run;
}

TEST(CaseTable, ShowsPredictionsBesideNoTime) {
  RunRecord run = predicted_run();
  for (CaseRecord& record : run.cases) record.accuracy.reset();
  EXPECT_EQ(
      terminal_table(run),
      "V100 (emulated, volta arithmetic), pass fwd, head_dim 64, seqlen_q 128, "
      "seqlen_k = seqlen_q, mask full, dropout 0.1, batch 1, heads 2\n"
      "predicted_ms is what a model of the V100-SXM2 makes likely (between the ends of its band), "
      "not measured\n"
      "predicted_speedup is over unfused-fp16, whose own prediction goes by published rates\n"
      "\n"
      "kernel               predicted_ms  predicted_tflops  predicted_by  predicted_speedup   "
      "memory  status\n"
      "-------------  ------------------  ----------------  ------------  -----------------  "
      "-------  ------\n"
      "volta-fp32acc  0.800 (0.700-1.00)              86.0  tensor           7.2x (5.5-9.5)  "
      "129 KiB  ok\n"
      "volta-fp16acc                   -                 -  -                             -  "
      "129 KiB  ok\n"
      "unfused-fp16     5.80 (5.50-6.65)              12.0  hbm                           -  "
      "129 KiB  ok\n");
}

TEST(CaseTable, PredictsNoBaselineAlone) {
  RunRecord run = predicted_run();
  run.cases[0].predicted.reset();
  EXPECT_FALSE(contains(terminal_table(run), "predicted")) << terminal_table(run);
}

TEST(CaseTable, SetsMeasuredTimesBesidePredictedOnes) {
  RunRecord run = sample_run();
  run.cases = {sample_predicted_case(), sample_predicted_case()};
  run.cases[1].problem.seqlen_q = 256;
  run.cases[1].time_ms->median = 1.04;
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table,
                       "measured/predicted is time_ms over the likely one, outside: of the "
                       "band\n"))
      << table;
  EXPECT_TRUE(contains(table, "                1.03  ")) << table;
  EXPECT_TRUE(contains(table, "      1.30 (outside)  ")) << table;
}

TEST(CaseTable, MarksWhatIsOkForItsAccumulatorAlone) {
  RunRecord run = sample_run();
  run.cases.resize(3);
  run.cases[1].warnings.push_back({std::string(kOverUnfusedWarning), "", 2.96});
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table, "              2.00  ok (3.0x)\n")) << table;
  EXPECT_TRUE(contains(table,
                       "\nok (Nx) is ok beside the unfused computation with the same accumulator, "
                       "but N times the error of that with FP32 accumulators\n"))
      << table;
  run.cases[1].status = Status::kIncorrect;
  EXPECT_FALSE(contains(terminal_table(run), "x)"));
}

TEST(CaseTable, NamesWhatSpeedupsAreOver) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case(), sample_timed_case()};
  EXPECT_TRUE(contains(terminal_table(run), "\nspeedup is over cublas-fp16\n"));
  run.cases[1].speedup->over = "torch-unfused";
  EXPECT_TRUE(contains(terminal_table(run), "\nspeedup is over cublas-fp16 or torch-unfused\n"));
}

TEST(CaseTable, TellsTheShapesThatWereRead) {
  RunRecord run = sample_run();
  EXPECT_FALSE(contains(terminal_table(run), "Tensors of"));
  run.method.input_file = "layer7.safetensors";
  EXPECT_TRUE(contains(terminal_table(run), "\nTensors of layer7.safetensors: q [1, 128, 2, 64],"));
}

TEST(CaseTable, ShowsTimesAndMarksThoseThatAreInvalid) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case(), sample_timed_case()};
  run.cases[1].valid = false;
  run.cases[1].tflops.reset();
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table, "         time_ms  tflops  speedup    memory  unfused_memory  "))
      << table;
  EXPECT_TRUE(contains(table, "          0.8240   83.50     7.92  1.00 MiB        33.0 MiB  "))
      << table;
  EXPECT_TRUE(contains(table, "\n0.8240 (invalid)       -     7.92  1.00 MiB        33.0 MiB  "))
      << table;
  EXPECT_TRUE(contains(table, "kernel volta-fp32acc, pass fwd")) << table;
}

TEST(CaseTable, ShowsABoundAsABound) {
  RunRecord run = sample_run();
  run.cases = {sample_emulated_case(), sample_run().cases[2]};
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table,
                       "\nbound_tflops is what the counts allow a V100-SXM2 at most, bound_by what "
                       "it runs out of; neither is measured\nerror_over_unfused is "))
      << table;
  EXPECT_TRUE(contains(table, "bound_tflops  bound_by   memory  ")) << table;
  EXPECT_TRUE(contains(table, "       98.50  tensor    129 KiB  ")) << table;
  EXPECT_TRUE(contains(table, "           -  -         129 KiB  ")) << table;
}

TEST(CaseTable, SetsTheUnfusedMemoryBesideEveryKernels) {
  RunRecord run = sample_run();
  run.cases = {sample_emulated_case(), sample_emulated_case()};
  EXPECT_FALSE(contains(terminal_table(run), "unfused_memory"));
  run.cases[0].memory_bytes->unfused = std::uint64_t{8} << 30;
  const std::string table = terminal_table(run);
  EXPECT_TRUE(
      contains(table, "\nunfused_memory is predicted, of the unfused computation in fp16\n"))
      << table;
  EXPECT_TRUE(contains(table, "129 KiB        8.00 GiB  ")) << table;
  EXPECT_TRUE(contains(table, "129 KiB               -  ")) << table;
}

TEST(CaseTable, ShowsKeysUnlessAsManyAsQueries) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.problem.seqlen_k = 131;
  EXPECT_TRUE(contains(terminal_table(run), ", seqlen_k 131,"));
  run.cases[0].problem.seqlen_k = 132;
  EXPECT_TRUE(contains(terminal_table(run), "seqlen_q  seqlen_k    mask"));
}

TEST(CaseTable, LeavesUsualInputsOutOfItsHead) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.problem.input = "normal";
  EXPECT_FALSE(contains(terminal_table(run), "input"));
  for (CaseRecord& record : run.cases) record.problem.input_scale = 16;
  EXPECT_TRUE(contains(terminal_table(run), "input_scale 16, head_dim 64"));
  run.cases[0].problem.input = "uniform";
  EXPECT_TRUE(contains(terminal_table(run), "kernel         input    seqlen_q"));
}

TEST(CaseTable, HasOnlyAHeadWithoutCases) {
  RunRecord run = sample_run();
  run.cases.clear();
  EXPECT_EQ(terminal_table(run), "V100 (emulated, volta arithmetic)\n\n");
}

TEST(CaseTable, NamesAGpuByItsNameAlone) {
  RunRecord run;
  run.environment.device.name = "Tesla V100-SXM2-16GB";
  run.environment.device.kind = DeviceKind::kGpu;
  run.environment.device.arithmetic = "native";
  EXPECT_EQ(terminal_table(run), "Tesla V100-SXM2-16GB\n\n");
}

TEST(CaseTable, ShowsEachGradientsErrorAndTheLargestOthers) {
  RunRecord run = sample_backward_run();
  run.cases.resize(2);
  EXPECT_EQ(
      terminal_table(run),
      "V100 (emulated, volta arithmetic), pass bwd, head_dim 64, seqlen_q 128, "
      "seqlen_k = seqlen_q, mask full, dropout 0.1, batch 1, heads 2\n"
      "error_over_unfused is rel_l2 over that of the unfused computation with FP32 accumulators\n"
      "rel_l2, max_abs and error_over_unfused of a backward pass are the largest of its "
      "gradients'\n"
      "\n"
      "kernel          memory  dq_rel_l1 %  dk_rel_l1 %  dv_rel_l1 %    rel_l2   max_abs  "
      "error_over_unfused  status\n"
      "-------------  -------  -----------  -----------  -----------  --------  --------  "
      "------------------  ------\n"
      "volta-fp32acc  129 KiB       0.0400       0.0800       0.0200  1.00e-03  4.00e-04  "
      "             0.500  ok\n"
      "volta-fp16acc  129 KiB        0.160        0.320       0.0800  4.00e-03  1.60e-03  "
      "              2.00  ok\n");
}

TEST(CaseTable, ShowsForwardAndBackwardCasesSideBySide) {
  RunRecord run = sample_backward_run();
  run.cases = {sample_run().cases[0], run.cases[0]};
  run.cases[1].gradient_accuracy->dv.max_abs = std::numeric_limits<double>::quiet_NaN();
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table, "pass   memory  rel_l1 %  dq_rel_l1 %  dk_rel_l1 %")) << table;
  EXPECT_TRUE(contains(table, "fwd  129 KiB    0.0400            -            -")) << table;
  EXPECT_TRUE(contains(table, "bwd  129 KiB         -       0.0400       0.0800")) << table;
  EXPECT_TRUE(contains(table, "1.00e-03         -")) << table;
}

TEST(CaseTable, IsMarkdownOnRequest) {
  const std::string table = format_case_table(sample_run(), TableStyle::kMarkdown);
  EXPECT_TRUE(contains(table, "\n| kernel        | seqlen_q |   mask |")) << table;
  EXPECT_TRUE(contains(table, "\n| ------------- | -------: | -----: |")) << table;
}

}  // namespace
}  // namespace sparkbench
