// sparkbench advise, as a user types it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/published_rates.h"
#include "harness/cli/python_script.h"
#include "harness/e2e/test_program.h"
#include "results/study/prediction_check.h"

namespace sparkbench {
namespace {

const std::string kSmall =
    "advise --device emulated-v100 --headdim 64 --seqlen 128 --mask full --dropout 0 --batch 1 "
    "--heads 2 --no-progress ";

TEST(Advise, SaysWhatToUseAndHowToSwitchItOn) {
  const ProgramResult result = run_sparkbench(kSmall + "--width 400");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.rfind("V100 (emulated), forward: --headdim 64 ", 0), 0u) << result.out;
  for (const char* const name :
       {"\n  use ", "\n  time ", "\n  memory ", "\n  error ", "\n  FP16-ACC ", "\n  not for ",
        "\n  PyTorch ", "\n  switch on ", "\n  evidence "}) {
    EXPECT_TRUE(contains(result.out, name)) << name << result.out;
  }
  EXPECT_TRUE(contains(result.out, " ms here (CUTLASS,")) << result.out;
  EXPECT_TRUE(contains(result.out, "not measured: there is no GPU here")) << result.out;
  EXPECT_TRUE(contains(result.out, model_on_published_times()));
}

TEST(Advise, HasTheFirstValueOfADefaultAndNoSecond) {
  const ProgramResult result =
      run_sparkbench("advise --device emulated-v100 --batch 1 --heads 1 --no-progress --json - ");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json run = nlohmann::json::parse(result.out);
  EXPECT_FALSE(run["cases"].empty());
  for (const auto& record : run["cases"]) {
    EXPECT_EQ(record["problem"]["head_dim"], 64);
    EXPECT_EQ(record["problem"]["seqlen_q"], 512);
    EXPECT_EQ(record["problem"]["mask"], "full");
  }
  expect_refused(run_sparkbench("advise --device emulated-v100 --seqlen 64,128"), 2,
                 "give one value of --seqlen (64, 128)");
}

TEST(Advise, OnATrainingStepHasBothPasses) {
  const ProgramResult result = run_sparkbench(kSmall + "--train");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "training step: --headdim 64 ")) << result.out;
  EXPECT_TRUE(contains(result.out, "backward: nothing published for head_dim 64")) << result.out;
}

TEST(Advise, HasNoFlagsOfSweepsAlone) {
  const std::string help = run_sparkbench("advise --help").out;
  for (const char* const flag : {"--out", "--resume", "--shard", "--preset", "--min-samples"}) {
    EXPECT_FALSE(contains(help, flag)) << flag;
    EXPECT_EQ(run_sparkbench(std::string("advise ") + flag + " 1").exit_code, 2) << flag;
  }
  EXPECT_TRUE(contains(help, "--train")) << help;
  EXPECT_LT(std::count(help.begin(), help.end(), '\n'), 80) << help;
}

TEST(Advise, SaysWhyAFigureWasNotDrawn) {
  const ProgramResult result = run_sparkbench(kSmall + "--figure /nowhere/advice.svg");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_TRUE(contains(result.err, "--figure: /nowhere/advice.svg: ")) << result.err;
  EXPECT_TRUE(contains(result.out, "\n  use ")) << "the advice is printed all the same";
}

TEST(PublishedRates, AreNoneWhereNobodyPublishedOne) {
  EXPECT_EQ(best_published_on_v100(128, Pass::kBackward)->tflops, 24.6);
  EXPECT_FALSE(best_published_on_v100(64, Pass::kBackward));
  EXPECT_FALSE(best_published_on_v100(80, Pass::kForward));
}

TEST(PythonScript, TellsHowItEnded) {
  const std::vector<std::string> none;
  const ScriptEnd end = run_python(project_script("results/no_such_file.py"), none);
  EXPECT_NE(end.status, 0);
  EXPECT_TRUE(contains(end.last_words, "no_such_file.py") || end.status == 127) << end.last_words;
}

TEST(PythonScript, LeavesNoTemporaryFile) {
  std::string path;
  {
    const ScratchFile file(".json");
    path = file.path();
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace sparkbench
