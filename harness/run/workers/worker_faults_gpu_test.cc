// A case that breaks its worker's CUDA context, and how the sweep handles it.
#include <gtest/gtest.h>

#include <string>

#include "harness/devices/gpu_device.h"
#include "harness/run/workers/test_process.h"

namespace sparkbench {
namespace {

const std::string kSweep =
    "sweep --device cuda:0 --kernel cublas-fp16,volta-fp32acc --headdim 64 --seqlen 33,65 --heads "
    "1 "
    "--batch 1 --causal false --dropout 0.1 --out run";

class BrokenContext : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(BrokenContext, CostsItsRowAloneWithCudasError) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSweep, "break-context:cublas-fp16/fwd/b1/h1/sq33*"), 4);
  const RunRecord run = stored_run(folder);
  ASSERT_EQ(run.cases.size(), 4u);
  EXPECT_TRUE(run.run.complete);
  EXPECT_EQ(count(run, Status::kOk), 3);
  const CaseRecord& victim = run.cases.front();
  ASSERT_EQ(victim.status, Status::kFailed);
  EXPECT_TRUE(contains(victim.reason.value().message, "cudaErrorIllegalAddress"))
      << victim.reason->message;
  EXPECT_TRUE(contains(victim.repro, "sparkbench sweep --device cuda:0 --kernel cublas-fp16"))
      << victim.repro;
}

TEST_F(BrokenContext, IsLeftWithItsWorker) {
  const TemporaryFolder folder;
  run_to_end(folder, kSweep, "break-context:cublas-fp16/fwd/b1/h1/sq33*");
  const std::vector<BegunCase> cases = begun_cases(folder);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_NE(cases[0].pid, cases[1].pid);
  EXPECT_EQ(cases[1].pid, cases[3].pid);
}

}  // namespace
}  // namespace sparkbench
