// What the program prints for people: it fits the width, names what it leaves out, and ends with a
// kernel.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

const std::string kPublished = SPARKBENCH_PUBLISHED;
const std::string kTinySweep =
    "sweep --device emulated-v100 --kernel volta-fp32acc,unfused-fp16 --headdim 64 --seqlen 9 "
    "--mask full,causal --dropout 0 --heads 1 --batch 1 --no-progress ";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

ProgramResult report_of(const std::string& run, const std::string& flags) {
  return run_sparkbench("report " + kPublished + "/" + run + " " + flags);
}

class StoredRun : public testing::TestWithParam<const char*> {};

TEST_P(StoredRun, FitsEveryWidthOnAnyMachine) {
  for (const int width : {80, 100, 120}) {
    const ProgramResult result = report_of(GetParam(), "--width " + std::to_string(width));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    for (const std::string& line : lines_of(result.out)) {
      const bool is_one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      EXPECT_TRUE(line.size() <= static_cast<std::size_t>(width) || is_one_word ||
                  line.starts_with("  repeat: "))
          << line;
    }
    EXPECT_TRUE(contains(result.out, "\nUse ")) << result.out;
  }
}

TEST_P(StoredRun, ShowsEveryColumnInBlocks) {
  const ProgramResult result = report_of(GetParam(), "--width 80 --columns all");
  EXPECT_FALSE(contains(result.out, "left out"));
  for (const std::string title : {"samples", "rel_l2", "max_abs", "workspace", "GB/s", " id\n"}) {
    EXPECT_TRUE(contains(result.out, title)) << title;
  }
}

INSTANTIATE_TEST_SUITE_P(H200, StoredRun,
                         testing::Values("h200/paper-forward", "h200/paper-backward",
                                         "h200/torch-forward.json", "h200/torch-backward.json"));

TEST(Report, TakesAnAxisByItsFlagInColumnsToo) {
  for (const std::string name : {"headdim", "head_dim"}) {
    const ProgramResult result = report_of("h200/paper-forward", "--columns kernel," + name);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(contains(result.out, "head_dim")) << result.out;
  }
}

TEST(Report, SaysThatAColumnIsEmpty) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  ASSERT_EQ(run_sparkbench(kTinySweep + "-q --out " + run).exit_code, 0);
  const ProgramResult result = run_sparkbench("report " + run + " --columns kernel,time_ms");
  EXPECT_TRUE(contains(result.out,
                       "no case has a value of time_ms: nothing was timed; "
                       "predicted_ms and predicted_tflops have predictions\n"))
      << result.out;
}

TEST(Report, SaysWhereTheRunIsOfWhichItGotAPart) {
  const TemporaryFolder folder;
  const std::string run = path_in(folder, "run");
  ASSERT_EQ(run_sparkbench(kTinySweep + "-q --out " + run).exit_code, 0);
  for (const std::string file : {"cases.csv", "cases.jsonl", "summary.md"}) {
    expect_refused(run_sparkbench("report " + run + "/" + file), 2,
                   "is a file of the run '" + run + "', and not all of it; give '" + run + "'");
  }
  const std::string csv = path_in(folder, "other.csv");
  std::filesystem::copy_file(run + "/cases.csv", csv);
  expect_refused(run_sparkbench("report " + csv), 2, "is a table for other programs");
}

TEST(Report, NamesTheFastestKernelOfARunThatIsStored) {
  const ProgramResult result = report_of("h200/paper-forward", "");
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_FALSE(lines.empty());
  EXPECT_TRUE(contains(result.out, "\nUse hopper-fp32acc: ")) << result.out;
  EXPECT_TRUE(contains(result.out, "x as fast as cublas-fp16 (")) << result.out;
  EXPECT_TRUE(contains(result.out, "\nMeasured on NVIDIA H200, 48 problems; ")) << result.out;
}

TEST(Report, ShowsTheCasesThatWereAskedFor) {
  const ProgramResult result = report_of(
      "h200/paper-forward", "--where mask=causal --where seqlen=4k,512 --where headdim=64");
  expect_refused(result, 2, "--where: no case has seqlen_q=4k; the run has 512, 1024, 2048,");
  const ProgramResult shown = report_of(
      "h200/paper-forward",
      "--where mask=causal --where seqlen=512 --where headdim=64 --columns kernel,dropout,time_ms");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, ", seqlen 512, mask causal, batch 32, heads 32\n")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "6 ok, 0 incorrect")) << shown.out;
}

TEST(Report, HasATableForEachHeadDim) {
  const ProgramResult result = report_of("h200/paper-forward", "--by headdim");
  EXPECT_TRUE(contains(result.out, "\nhead_dim 64\n")) << result.out;
  EXPECT_TRUE(contains(result.out, "\nhead_dim 128\n")) << result.out;
  EXPECT_TRUE(contains(result.out, ", batch 16384 / seqlen, heads 2048 / head_dim\n"));
}

TEST(Sweep, WritesAllAndShowsWhatWasAskedFor) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_sparkbench(kTinySweep + "--where mask=causal --csv " + path_in(folder, "cases.csv"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "mask causal")) << result.out;
  EXPECT_TRUE(contains(result.out, "2 ok, 0 incorrect")) << result.out;
  EXPECT_EQ(lines_of(text_of_file(folder.path() / "cases.csv")).size(), 5u);
}

TEST(Sweep, SaysWhenThereIsNothingToShow) {
  const ProgramResult result = run_sparkbench(kTinySweep + "--where mask=window:3");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "no case has mask=window:3; the run has full, causal; nothing"))
      << result.err;
}

TEST(Accuracy, HasTablesForEachValueOfAnAxis) {
  const ProgramResult result = run_sparkbench("accuracy" + kTinySweep.substr(5) + "--by mask");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "mask full\n\nErrors of o")) << result.out;
  EXPECT_TRUE(contains(result.out, "mask causal\n\nErrors of o")) << result.out;
}

TEST(Json, HasListsInLinesThatAPersonReads) {
  const TemporaryFolder folder;
  const std::string file = path_in(folder, "run.json");
  const ProgramResult result = report_of("h200/paper-forward", "--json " + file);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(text_of_file(file));
  const auto samples = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("        \"samples\": [");
  });
  ASSERT_NE(samples, lines.end());
  EXPECT_TRUE((samples + 1)->starts_with("          0.")) << *(samples + 1);
  EXPECT_GT(std::count((samples + 1)->begin(), (samples + 1)->end(), ','), 3) << *(samples + 1);
  EXPECT_LT(lines.size(), 220u * 144);  // per case
}

}  // namespace
}  // namespace sparkbench
