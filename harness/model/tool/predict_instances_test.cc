// sparkbench-model predict on the program's own kernels.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/model/predict/cycles_file.h"
#include "harness/model/tool/test_model_program.h"
#include "results/store/output_file.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

ProgramResult predict_instances(const std::string& flags) { return run_model("predict " + flags); }

TEST(CommandPredictInstances, TellsStagesAndSharesOfEachKernel) {
  const ProgramResult result = predict_instances("--kernel volta-fp32acc/fwd/*");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "\nd64 ")) << result.out;
  EXPECT_TRUE(contains(result.out, "\nd128/dropout ")) << result.out;
  EXPECT_TRUE(contains(result.out, ": kernel volta-fp32acc/fwd/*, ")) << result.out;
  EXPECT_FALSE(contains(result.out, "volta-fp16acc")) << result.out;
  EXPECT_FALSE(contains(result.out, "\nd128/4")) << result.out;  // for another GPU
}

TEST(CommandPredictInstances, TellsTheSameForPrograms) {
  const ProgramResult result = predict_instances("--json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = nlohmann::json::parse(result.out);
  EXPECT_EQ(document["instances"].size(), embedded_cycles().instances.size());
  for (const auto& instance : document["instances"]) {
    const double share = instance["tensor_share"]["forwarded"];
    EXPECT_GT(share, 0.3) << instance;
    EXPECT_LT(share, 1.0) << instance;
    const auto& likely = instance["likely_tensor_share"];
    EXPECT_LT(likely["low"], likely["likely"]) << instance;
    EXPECT_LT(likely["likely"], likely["high"]) << instance;
    EXPECT_EQ(instance["cycles"]["supply-8"].size(), instance["blocks_per_sm"]) << instance;
  }
}

TEST(CommandPredictInstances, RefusesWhatItCannotDo) {
  const auto refusal = [](const std::string& flags) {
    const ProgramResult result = predict_instances(flags);
    EXPECT_EQ(result.exit_code, 2) << flags << result.out;
    EXPECT_EQ(result.out, "") << flags;
    return result.err;
  };
  EXPECT_TRUE(contains(refusal("--kernel volta-fp64acc"),
                       "--kernel: unknown 'volta-fp64acc', did you mean 'volta-fp16acc'?"));
  EXPECT_TRUE(contains(refusal("--kernel volta-fp32acc/fdw/d64"),
                       "did you mean 'volta-fp32acc/fwd/d64'?; allowed: volta-fp16acc, "));
  EXPECT_TRUE(contains(refusal("--kernel volta-fp32acc --write -"),
                       "--write: with --kernel the other kernels' cycles are kept"));
  EXPECT_TRUE(contains(refusal("--kernel volta-fp32acc --write /nowhere.json"),
                       "--write: /nowhere.json: "));
  EXPECT_TRUE(contains(refusal("--function gemm --threads 128"), "these flags need machine code"));
  EXPECT_TRUE(contains(refusal("--listing x.sass --kernel volta-fp32acc"), "--listing: "));
  EXPECT_TRUE(contains(refusal("--check /nowhere.json"), "--check: /nowhere.json: "));
}

TEST(CommandPredictInstances, KeepsNoCyclesOfAnotherToolkit) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "cycles.json";
  write_file(path, R"({"schema": 4, "sm": 70, "toolkit": "11.8", "instances": {}})");
  const ProgramResult result =
      predict_instances("--kernel volta-fp32acc --binary x --toolkit 12.9 --write " + path);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "--write: " + path + " has cycles of code of CUDA 11.8, and " +
                                       "this code is of CUDA 12.9; allowed: the same"))
      << result.err;
}

TEST(CommandPredict, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  for (const std::string& path : unreadable_paths(folder)) {
    for (const std::string flag : {"--listing ", "--cuobjdump /bin/true --binary ", "--check "}) {
      const ProgramResult result = predict_instances(flag + path);
      EXPECT_EQ(result.exit_code, 2) << flag << path << ": " << result.err;
      EXPECT_TRUE(contains(result.err, path)) << result.err;
      EXPECT_EQ(result.out, "");
    }
  }
}

TEST(CommandPredictInstances, SaysWhatIsWrongWithAFileOfCycles) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "cycles.json";
  write_file(path, R"({"schema": 1, "sm": 70, "toolkit": "11.8"})");
  const ProgramResult result = predict_instances("--check " + path);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "--check: " + path + ": ")) << result.err;
  EXPECT_TRUE(contains(result.err, "instances")) << result.err;
}

}  // namespace
}  // namespace sparkbench
