// sparkbench mask, as a user types it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

using Json = nlohmann::json;

Json json_of(const std::string& arguments) {
  const ProgramResult result = run_sparkbench("mask " + arguments + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

TEST(CommandMask, DrawsAndCounts) {
  const ProgramResult result = run_sparkbench("mask window:2 --seqlen 4 --tile 2x2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const std::string drawn = "  ## . . .\n  #### . .\n   .#### .\n   . .####\n";
  EXPECT_TRUE(contains(result.out, "window:2, seqlen_q 4, seqlen_k 4, heads 1\n")) << result.out;
  EXPECT_TRUE(contains(result.out, drawn)) << result.out;
  EXPECT_TRUE(contains(result.out, "43.75 %: 7 pairs of a head\n")) << result.out;
  EXPECT_TRUE(contains(result.out, "2, at most 1 a tile of rows: 0 full tiles, 3 cut\n"));
  EXPECT_TRUE(contains(result.out, "1.714 in tiles of 2 x 2")) << result.out;
}

TEST(CommandMask, CountsWhatTheStudyCounts) {
  const Json window = json_of("window:128 --seqlen 4k");
  const Json& figures = window["unions"][0];
  EXPECT_NEAR(figures["executed_over_useful"], 1.5, 0.005);
  EXPECT_NEAR(figures["warp_executed_over_useful"], 1.25, 0.005);
  EXPECT_EQ(figures["metadata_bytes"], 0);
  EXPECT_GT(figures["analysis_us"], 0.0);
  EXPECT_GE(figures["repetitions"], 1);
  EXPECT_TRUE(window["is_taken_by_kernels"]);
  const Json strided = json_of("causal-strided:128+window:128 --seqlen 16k");
  EXPECT_EQ(strided["unions"][0]["passes"]["strides"], Json({1, 128}));
  EXPECT_LT(strided["unions"][0]["passes"]["warp_executed_over_useful"], 1.3);
  EXPECT_FALSE(strided["is_taken_by_kernels"]);
  const Json longformer = json_of("longformer:256:16 --seqlen 16k --heads 12 --tile 128x64");
  EXPECT_LT(longformer["balance"]["makespan_over_mean"], 1.1);
  EXPECT_GT(longformer["balance"]["makespan_over_mean_unsplit"], 2.0);
}

TEST(CommandMask, TellsHeadsByTurns) {
  const Json json = json_of("window:9/full --seqlen 64 --seqlen-k 128");
  EXPECT_EQ(json["heads"], 2);
  EXPECT_EQ(json["seqlen_k"], 128);
  EXPECT_EQ(json["unions"][1]["mask"], "full");
  EXPECT_EQ(json["unions"][1]["density"], 1.0);
  const ProgramResult text = run_sparkbench("mask window:9/full --seqlen 64");
  EXPECT_TRUE(contains(text.out, "heads 1, 3, ...: full\n")) << text.out;
}

TEST(CommandMask, TakesExpressions) {
  const Json one = json_of("where:k<=q&&q-k<128 --seqlen 1k"),
             other = json_of("window:128 --seqlen 1k");
  EXPECT_EQ(one["unions"][0]["mask"], "where:k<=q&&q-k<128");
  for (const char* const figure :
       {"pairs_visible", "spans", "full_tiles", "cut_tiles", "pairs_executed"}) {
    ASSERT_TRUE(one["unions"][0].contains(figure)) << figure;
    EXPECT_EQ(one["unions"][0][figure], other["unions"][0][figure]) << figure;
  }
  const Json heads = json_of("where:(q+h)%4==0 --seqlen 64 --heads 3");
  EXPECT_EQ(heads["unions"].size(), 3u);
  EXPECT_EQ(run_sparkbench("mask where:h<k --seqlen 64").exit_code, 2);
  const ProgramResult wrong = run_sparkbench("mask where:k<=q<=5 --seqlen 64");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(contains(wrong.err, "at character 5 of 'k<=q<=5'")) << wrong.err;
}

TEST(CommandMask, HasNoRatioWhereNothingIsVisible) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "none.zones") << "q=90: # no such row\n";
  const std::string mask = "zones:" + path_in(folder, "none.zones");
  EXPECT_TRUE(json_of(mask + " --seqlen 64")["unions"][0]["executed_over_useful"].is_null());
  EXPECT_TRUE(contains(run_sparkbench("mask " + mask + " --seqlen 64").out, "nothing is visible"));
}

TEST(CommandMask, WritesDrawings) {
  const TemporaryFolder folder;
  const std::string svg = path_in(folder, "a.svg"), text = path_in(folder, "a.txt");
  const ProgramResult result =
      run_sparkbench("mask nd:20x30:5x7/chunk:100 --seqlen 600 --output " + svg + " " + text);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string drawn = text_of_file(svg);
  EXPECT_EQ(drawn.rfind("<svg ", 0), 0u);
  EXPECT_TRUE(contains(drawn, ">nd:20x30:5x7</text>"));
  EXPECT_TRUE(contains(drawn, ">chunk:100</text>"));
  EXPECT_TRUE(contains(drawn, "class=\"f\"") && contains(drawn, "class=\"c\""));
  EXPECT_EQ(text_of_file(text), result.out);
}

TEST(CommandMask, SaysWhatIsWrong) {
  const auto refused = [](const std::string& arguments, const std::string& says) {
    expect_refused(run_sparkbench("mask " + arguments), 2, says);
  };
  refused("windos:3 --seqlen 64",
          "MASK: 'windos:3' is no mask, did you mean 'window:3'?; allowed: full, causal, window:W");
  refused("full --seqlen 0", "--seqlen");
  refused("full --seqlen 2m", "--seqlen: 2m is too many; allowed: 1 to 262144");
  refused("full/causal --seqlen 64 --heads 1",
          "--heads: 1 heads cannot cycle through 2 masks; allowed: 2 to 4096");
  refused("full --seqlen 64 --tile 64",
          "--tile: '64' is not a tile; allowed: ROWSxKEYS, such as 64x64");
  refused("full --seqlen 64 --tile 64x0", "--tile");
  refused("nd:4x4:3x3 --seqlen 64", "MASK: the axes 4x4 have 16 positions and seqlen_k is 64");
  refused("zones:/none --seqlen 64", "MASK: 'zones:/none' cannot be read");
  refused("full --seqlen 64 --output a.png",
          "--output: 'a.png' has an unknown ending; allowed: .svg, .txt");
  refused("full", "--seqlen is required");
  expect_refused(run_sparkbench("mask full --seqlen 64 --output /none/a.svg"), 5, "--output");
}

}  // namespace
}  // namespace sparkbench
