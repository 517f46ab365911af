#include "results/case_table.h"

#include <gtest/gtest.h>

#include "results/sample_run.h"

namespace sparkbench {
namespace {

std::string terminal_table(const RunRecord& run) {
  return format_case_table(run, TableStyle::kTerminal);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CaseTable, ShowsWhatVariesAndPutsConstantsAtItsHead) {
  EXPECT_EQ(
      terminal_table(sample_run()),
      "emulated-v100 (emulated, volta arithmetic), pass fwd, head_dim 64, seqlen_k = seqlen_q, "
      "dropout 0.1, batch 1, heads 2\n"
      "\n"
      "kernel         seqlen_q  causal    memory  rel_l1 %    rel_l2   max_abs  error_ratio  "
      "status\n"
      "-------------  --------  ------  --------  --------  --------  --------  -----------  "
      "---------\n"
      "volta-fp32acc       128   false   129 KiB    0.0400  5.00e-04  2.00e-04        0.500  ok\n"
      "volta-fp16acc       128   false   129 KiB     0.160  2.00e-03  8.00e-04        0.900  ok\n"
      "unfused-fp16        128   false   129 KiB    0.0800  1.00e-03  4.00e-04         1.00  ok\n"
      "volta-fp32acc       200    true   202 KiB    0.0100  1.25e-04  5.00e-05        0.500  ok\n"
      "volta-fp16acc       200    true   202 KiB    0.0400  5.00e-04  2.00e-04        0.900  ok\n"
      "unfused-fp16        200    true   202 KiB    0.0200  2.50e-04  1.00e-04         1.00  ok\n"
      "volta-fp16acc     16384   false  16.1 MiB         -         -         -            -  "
      "skipped\n"
      "volta-fp16acc       256   false   258 KiB         -         -         -            -  "
      "failed\n"
      "volta-fp16acc        64   false  64.5 KiB       nan       nan       nan            -  "
      "incorrect\n");
}

TEST(CaseTable, ShowsTimesWhereThereAreAnyAndMarksThoseThatAreInvalid) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case(), sample_timed_case()};
  run.cases[1].valid = false;
  run.cases[1].tflops.reset();
  const std::string table = terminal_table(run);
  EXPECT_TRUE(contains(table, "         time_ms  tflops  speedup    memory  ")) << table;
  EXPECT_TRUE(contains(table, "          0.8240   83.50     7.92  1.00 MiB  ")) << table;
  EXPECT_TRUE(contains(table, "\n0.8240 (invalid)       -     7.92  1.00 MiB  ")) << table;
  EXPECT_TRUE(contains(table, "kernel volta-fp32acc, pass fwd")) << table;
}

TEST(CaseTable, ShowsTheKeysWhereTheirNumberDiffersFromTheQueries) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.problem.seqlen_k = 131;
  EXPECT_TRUE(contains(terminal_table(run), ", seqlen_k 131,"));
  run.cases[0].problem.seqlen_k = 132;
  EXPECT_TRUE(contains(terminal_table(run), "seqlen_q  seqlen_k  causal"));
}

TEST(CaseTable, HasOnlyAHeadWithoutCases) {
  RunRecord run = sample_run();
  run.cases.clear();
  EXPECT_EQ(terminal_table(run), "emulated-v100 (emulated, volta arithmetic)\n\n");
}

TEST(CaseTable, IsMarkdownOnRequest) {
  const std::string table = format_case_table(sample_run(), TableStyle::kMarkdown);
  EXPECT_TRUE(contains(table, "\n| kernel        | seqlen_q | causal |")) << table;
  EXPECT_TRUE(contains(table, "\n| ------------- | -------: | -----: |")) << table;
}

}  // namespace
}  // namespace sparkbench
