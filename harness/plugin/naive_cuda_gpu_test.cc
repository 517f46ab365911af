// The example for GPUs, through the whole program, on this machine's GPU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/devices/gpu_device.h"
#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

const std::string kLibrary = SPARKBENCH_PLUGINS "/libnaive_cuda.so";

class NaiveCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no CUDA device";
  }

  static nlohmann::json cases_of(const std::string& flags) {
    const ProgramResult result =
        run_sparkbench("sweep --device cuda:0 --kernel " + kLibrary + flags + " --quiet --json -");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["cases"];
  }
};

TEST_F(NaiveCuda, IsOkWithEveryBoundedMask) {
  const auto cases = cases_of(
      " --pass fwd,bwd,fwd+bwd --headdim 64,136 --seqlen 1,127,200 --seqlen-k 190 --batch 2 "
      "--heads 4 --heads-k 2 --dropout 0 --mask full,causal,window:33,band:5:9,prefix:20 "
      "--dtype fp16,bf16 --min-samples 2");
  ASSERT_EQ(cases.size(), 180u);
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
  }
}

TEST_F(NaiveCuda, IsTimedBesideTheBaseline) {
  const auto cases = cases_of(
      ",cublas-fp16 --pass fwd,bwd --headdim 64 --seqlen 512 --batch 2 --heads 4 --dropout 0 "
      "--causal both");
  ASSERT_EQ(cases.size(), 8u);
  for (const auto& record : cases) {
    EXPECT_EQ(record["status"], "ok") << record["id"] << record["reason"];
    EXPECT_GT(record["time_ms"]["median"], 0.0) << record["id"];
    if (record["kernel"] != "naive-cuda") continue;
    EXPECT_EQ(record["speedup"]["over"], "cublas-fp16");
    EXPECT_TRUE(record["libraries"].contains("libnaive_cuda.so"));
    EXPECT_GT(record["memory_bytes"]["peak"], 0);
  }
}

TEST_F(NaiveCuda, DeclinesWhatItLacks) {
  const ProgramResult result = run_sparkbench(
      "sweep --device cuda:0 --quiet --json - --kernel " + kLibrary +
      " --headdim 64 --seqlen 128 --batch 1 --heads 1 --mask chunk:32,full --dropout 0,0.1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  int ok = 0;
  const nlohmann::json run = nlohmann::json::parse(result.out);
  for (const auto& record : run["cases"]) {
    ok += record["status"] == "ok";
    if (record["status"] == "ok") continue;
    EXPECT_EQ(record["reason"]["code"], "E-UNSUPPORTED") << record["reason"];
  }
  EXPECT_EQ(ok, 1);
}

}  // namespace
}  // namespace sparkbench
