#include "results/render/case_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "kernels/testing/messages.h"
#include "results/record/test_run.h"

namespace sparkbench {
namespace {

std::string terminal_table(const RunRecord& run) { return format_case_table(run, {}); }

TEST(CaseTable, ShowsWhatVariesBelowTheConstants) {
  EXPECT_EQ(
      terminal_table(sample_run()),
      "V100 (emulated, volta arithmetic), pass fwd, head_dim 64, dropout 0.1, batch 1, heads 2\n"
      "error/unfused is rel_l2 over that of the unfused computation with FP32 accumulators\n"
      "an output that is not finite has no error: -\n"
      "\n"
      "                                         rel_l1   error/\n"
      "kernel         seqlen    mask    memory       %  unfused  status\n"
      "-------------  ------  ------  --------  ------  -------  ---------\n"
      "volta-fp32acc     128    full   129 KiB  0.0400    0.500  ok\n"
      "volta-fp16acc     128    full   129 KiB   0.160     2.00  ok\n"
      "unfused-fp16      128    full   129 KiB  0.0800     1.00  ok\n"
      "volta-fp32acc     200  causal   202 KiB  0.0100    0.500  ok\n"
      "volta-fp16acc     200  causal   202 KiB  0.0400     2.00  ok\n"
      "unfused-fp16      200  causal   202 KiB  0.0200     1.00  ok\n"
      "volta-fp16acc   16384    full  16.1 MiB       -        -  skipped\n"
      "volta-fp16acc     256    full   258 KiB       -        -  failed\n"
      "volta-fp16acc      64    full  64.5 KiB       -        -  incorrect\n");
}

TEST(CaseTable, NamesWhatGivesWayToTheWidth) {
  RunRecord run = sample_run();
  run.cases.resize(3);
  EXPECT_EQ(format_case_table(run, {.width = 32}),
            "V100 (emulated, volta arithmetic), pass fwd, head_dim 64, seqlen 128, mask full, "
            "dropout 0.1, batch 1, heads 2\n"
            "columns that do not fit in 32 characters, shown by --columns all: rel_l1, "
            "error_over_unfused\n"
            "\n"
            "kernel          memory  status\n"
            "-------------  -------  ------\n"
            "volta-fp32acc  129 KiB  ok\n"
            "volta-fp16acc  129 KiB  ok\n"
            "unfused-fp16   129 KiB  ok\n");
}

TEST(CaseTable, NeverGivesUpKernelAxesAndStatus) {
  const std::string table = format_case_table(sample_run(), {.width = 20});
  EXPECT_TRUE(contains(table, "\nkernel        seqlen   mask status\n")) << table;
  EXPECT_TRUE(contains(table, "shown by --columns all: rel_l1, error_over_unfused, memory\n"))
      << table;
}

TEST(CaseTable, ShowsTheNamedColumnsInTheirOrder) {
  RunRecord run = sample_run();
  run.cases.resize(2);
  const std::string table =
      format_case_table(run, {.width = 60, .columns = {"rel_l2", "kernel", "batch", "status"}});
  EXPECT_TRUE(contains(table,
                       "  rel_l2  kernel         batch  status\n"
                       "--------  -------------  -----  ------\n"
                       "5.00e-04  volta-fp32acc      1  ok\n"
                       "2.00e-03  volta-fp16acc      1  ok\n"))
      << table;
}

TEST(CaseTable, ShowsAllThatHasAValueInBlocks) {
  RunRecord run = sample_run();
  run.cases.resize(2);
  const std::string table = format_case_table(run, {.width = 60, .columns = {"all"}});
  for (const char* const title :
       {"max_abs", "rel_l2", "workspace", "status", "\nvolta-fp32acc  "}) {
    EXPECT_TRUE(contains(table, title)) << title << table;
  }
  EXPECT_FALSE(contains(table, "left out"));
  EXPECT_FALSE(contains(table, "time"));
  EXPECT_TRUE(contains(table, "\nkernel         unfused  status\n")) << "a second block\n" << table;
}

TEST(CaseTable, HasATableForEachValueOfAnAxis) {
  RunRecord run = sample_run();
  run.cases.resize(6);
  const std::string table = format_case_table(run, {.by = "mask"});
  EXPECT_TRUE(contains(table,
                       "\nmask full\n"
                       "                                rel_l1   error/\n"
                       "kernel         seqlen   memory       %  unfused  status\n"
                       "-------------  ------  -------  ------  -------  ------\n"
                       "volta-fp32acc     128  129 KiB  0.0400    0.500  ok\n"))
      << table;
  EXPECT_TRUE(contains(table, "\n\nmask causal\n")) << table;
  EXPECT_FALSE(contains(table.substr(0, table.find("\n\n")), "mask")) << table;
}

TEST(CaseTable, FoldsAnExtentThatFollowsFromAnother) {
  RunRecord run = sample_run();
  run.cases.resize(6);
  for (CaseRecord& record : run.cases) {
    const bool is_first = record.problem.seqlen_q == 128;
    record.problem.batch = is_first ? 4 : 2;
    record.problem.seqlen_q = record.problem.seqlen_k = is_first ? 128 : 256;
  }
  EXPECT_TRUE(contains(terminal_table(run), ", batch 512 / seqlen, heads 2\n"))
      << terminal_table(run);
  run.cases[0].problem.batch = 3;
  EXPECT_TRUE(contains(terminal_table(run), "  batch  ")) << terminal_table(run);
}

TEST(CaseTable, BreaksItsHeadAtAWidthThatSomebodyChose) {
  const std::string table = format_case_table(sample_run(), {.width = 70, .wraps_text = true});
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 70u) << line;
}

/// One problem of the emulated sample, with predictions for a kernel and for the baseline.
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
      "V100 (emulated, volta arithmetic), pass fwd, head_dim 64, seqlen 128, mask full, "
      "dropout 0.1, batch 1, heads 2\n"
      "predicted speed-up is over unfused-fp16\n"
      "\n"
      "               predicted      band  predicted  predicted  predicted\n"
      "kernel                ms        ms    TFLOP/s  by          speed-up     band   memory  "
      "status\n"
      "-------------  ---------  --------  ---------  ---------  ---------  -------  -------  "
      "------\n"
      "volta-fp32acc      0.800  0.70-1.0       86.0  tensor           7.2  5.5-9.5  129 KiB  ok\n"
      "volta-fp16acc          -         -          -  -                  -        -  129 KiB  ok\n"
      "unfused-fp16        5.80   5.5-6.7       12.0  hbm                -        -  129 KiB  "
      "ok\n");
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
  EXPECT_TRUE(contains(table, "           1.03  ")) << table;
  EXPECT_TRUE(contains(table, " 1.30 (outside)  ")) << table;
}

TEST(CaseTable, NamesTheModelsAndDropsTheirAxesFirst) {
  RunRecord run = sample_run();
  run.cases.resize(6);
  for (CaseRecord& record : run.cases) {
    record.problem.model = record.problem.seqlen_q == 128 ? "BERT" : "ViT";
  }
  const std::string table = format_case_table(run, {.width = 50});
  EXPECT_TRUE(contains(table, "\nkernel        model  memory      % unfused status\n")) << table;
  EXPECT_TRUE(contains(table, "\nvolta-fp32acc BERT  129 KiB")) << table;
}

TEST(CaseTable, TellsTheShapesThatWereRead) {
  RunRecord run = sample_run();
  EXPECT_FALSE(contains(terminal_table(run), "Tensors of"));
  run.method.input_file = "layer7.safetensors";
  EXPECT_TRUE(contains(terminal_table(run), "\nTensors of layer7.safetensors: q [1, 128, 2, 64],"));
}

TEST(CaseTable, ShowsTimesTheirNoiseAndTheShareOfPeak) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case(), sample_timed_case()};
  run.cases[1].valid = false;
  run.cases[1].tflops.reset();
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(
      table,
      "            time  noise  TFLOP  peak  speed             unfused  rel_l1   error/\n"
      "              ms      %     /s     %    -up    memory    memory       %  unfused  status\n"
      "----------------  -----  -----  ----  -----  --------  --------  ------  -------  ------\n"))
      << table;
  EXPECT_TRUE(contains(table, "          0.8240   0.30  83.50  66.8   7.92  1.00 MiB  33.0 MiB"))
      << table;
  EXPECT_TRUE(contains(table, "\n0.8240 (invalid)   0.30      -  66.8   7.92  ")) << table;
  EXPECT_TRUE(contains(table, "kernel volta-fp32acc, pass fwd")) << table;
}

TEST(CaseTable, SetsTheUnfusedMemoryBesideEveryKernels) {
  RunRecord run = sample_run();
  run.cases = {sample_emulated_case(), sample_emulated_case()};
  EXPECT_FALSE(contains(terminal_table(run), "unfused memory"));
  run.cases[0].memory_bytes->unfused = std::uint64_t{8} << 30;
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table, "129 KiB  8.00 GiB  ")) << table;
  EXPECT_TRUE(contains(table, "129 KiB         -  ")) << table;
}

TEST(CaseTable, ShowsKeysUnlessAsManyAsQueries) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.problem.seqlen_k = 131;
  EXPECT_TRUE(contains(terminal_table(run), ", seqlen_k 131,"));
  run.cases[0].problem.seqlen_k = 132;
  EXPECT_TRUE(contains(terminal_table(run), "               seqlen  seqlen  "))
      << terminal_table(run);
  EXPECT_TRUE(contains(terminal_table(run), "kernel              q       k    mask  "));
}

TEST(CaseTable, LeavesUsualInputsOutOfItsHead) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.problem.input = "normal";
  EXPECT_FALSE(contains(terminal_table(run), "input"));
  for (CaseRecord& record : run.cases) record.problem.input_scale = 16;
  EXPECT_TRUE(contains(terminal_table(run), "input_scale 16, head_dim 64"));
  run.cases[0].problem.input = "uniform";
  EXPECT_TRUE(contains(terminal_table(run), "kernel         input    seqlen  "));
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
  EXPECT_EQ(terminal_table(run),
            "V100 (emulated, volta arithmetic), pass bwd, head_dim 64, seqlen 128, mask full, "
            "dropout 0.1, batch 1, heads 2\n"
            "error/unfused is rel_l2 over that of the unfused computation with FP32 accumulators\n"
            "one error for a backward pass is the largest of its gradients'\n"
            "\n"
            "                              dq        dk        dv   error/\n"
            "kernel          memory  rel_l1 %  rel_l1 %  rel_l1 %  unfused  status\n"
            "-------------  -------  --------  --------  --------  -------  ------\n"
            "volta-fp32acc  129 KiB    0.0400    0.0800    0.0200    0.500  ok\n"
            "volta-fp16acc  129 KiB     0.160     0.320    0.0800     2.00  ok\n");
}

TEST(CaseTable, ShowsForwardAndBackwardCasesSideBySide) {
  RunRecord run = sample_backward_run();
  run.cases = {sample_run().cases[0], run.cases[0]};
  run.cases[1].gradient_accuracy->dv.rel_l1 = std::numeric_limits<double>::quiet_NaN();
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table, "pass   memory       %  rel_l1 %  rel_l1 %  rel_l1 %")) << table;
  EXPECT_TRUE(contains(table, "fwd  129 KiB  0.0400         -         -         -")) << table;
  EXPECT_TRUE(contains(table, "bwd  129 KiB       -    0.0400    0.0800         -")) << table;
}

TEST(CaseTable, IsMarkdownOnRequest) {
  const std::string table = format_case_table(sample_run(), {.style = TableStyle::kMarkdown});
  EXPECT_TRUE(contains(table, "\n| kernel        | seqlen |   mask |")) << table;
  EXPECT_TRUE(contains(table, "\n| ------------- | -----: | -----: |")) << table;
}

}  // namespace
}  // namespace sparkbench
