#include "results/study/accuracy_study.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

std::vector<std::string> titles_of(const std::vector<StudiedKernel>& kernels) {
  std::vector<std::string> titles;
  titles.reserve(kernels.size());
  for (const StudiedKernel& kernel : kernels) titles.push_back(kernel.title);
  return titles;
}

/// The kernels of a run with only forward passes.
std::vector<StudiedKernel> forward_study(const RunRecord& run) {
  const std::vector<AccuracyStudy> studies = study_accuracy(run);
  EXPECT_EQ(studies.size(), 1u);
  EXPECT_EQ(studies.at(0).pass, Pass::kForward);
  EXPECT_EQ(studies.at(0).output, "o");
  return studies.at(0).kernels;
}

TEST(AccuracyStudy, OrdersTheKernelsByAccumulatorAndReferencesLast) {
  const std::vector<StudiedKernel> kernels = forward_study(sample_run());
  EXPECT_EQ(titles_of(kernels), std::vector<std::string>({"FP16-ACC", "FP32-ACC", "unfused-fp16"}));
  EXPECT_EQ(kernels.at(0).name, "volta-fp16acc");
  EXPECT_EQ(kernels.at(2).role, Role::kReference);
}

TEST(AccuracyStudy, KeepsProblemsVerifiedByAllInOneOrder) {
  RunRecord run = sample_run();
  std::swap(run.cases[0], run.cases[3]);
  const std::vector<StudiedKernel> kernels = forward_study(run);
  for (const StudiedKernel& kernel : kernels) {
    ASSERT_EQ(kernel.cases.size(), 2u) << kernel.name;
    EXPECT_EQ(kernel.cases[0].problem.seqlen_q, 128) << kernel.name;
    EXPECT_EQ(kernel.cases[1].problem.seqlen_q, 200) << kernel.name;
  }
}

TEST(AccuracyStudy, NamesKernelsThatShareAnAccumulator) {
  RunRecord run = sample_run();
  for (std::size_t i = 0; i < 6; i += 3) {
    run.cases.push_back(run.cases[i]);
    run.cases.back().kernel = "hopper-fp32acc";
  }
  EXPECT_EQ(
      titles_of(forward_study(run)),
      std::vector<std::string>({"FP16-ACC", "volta-fp32acc", "hopper-fp32acc", "unfused-fp16"}));
}

TEST(AccuracyStudy, LeavesOutAKernelThatWasNeverVerified) {
  RunRecord run = sample_run();
  for (CaseRecord& record : run.cases) {
    if (record.kernel == "volta-fp16acc") record.accuracy.reset();
  }
  EXPECT_EQ(titles_of(forward_study(run)), std::vector<std::string>({"FP32-ACC", "unfused-fp16"}));
  EXPECT_TRUE(study_accuracy(RunRecord()).empty());
}

TEST(AccuracyStudy, StudiesEachGradientByItself) {
  const std::vector<AccuracyStudy> studies = study_accuracy(sample_backward_run());
  ASSERT_EQ(studies.size(), 3u);
  const std::vector<std::string> outputs = {"dq", "dk", "dv"};
  for (std::size_t i = 0; i < studies.size(); ++i) {
    EXPECT_EQ(studies[i].pass, Pass::kBackward);
    EXPECT_EQ(studies[i].output, outputs[i]);
    EXPECT_EQ(titles_of(studies[i].kernels),
              std::vector<std::string>({"FP16-ACC", "FP32-ACC", "unfused-fp16"}));
    for (const StudiedKernel& kernel : studies[i].kernels) {
      ASSERT_EQ(kernel.cases.size(), 2u);
      EXPECT_EQ(kernel.cases[0].accuracy.value().output, outputs[i]);
    }
  }
}

TEST(AccuracyStudy, StudiesEachDistributionOfInputsByItself) {
  RunRecord run = sample_run();
  const std::vector<CaseRecord> cases = run.cases;
  for (CaseRecord& record : run.cases) record.problem.input = "uniform";
  for (CaseRecord record : cases) {
    record.problem.input = "normal";
    run.cases.push_back(record);
  }
  const std::vector<AccuracyStudy> studies = study_accuracy(run);
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[0].input, "uniform");
  EXPECT_EQ(studies[1].input, "normal");
  for (const AccuracyStudy& study : studies) {
    for (const StudiedKernel& kernel : study.kernels) EXPECT_EQ(kernel.cases.size(), 2u);
  }
}

TEST(AccuracyStudy, KeepsThePassesOfAMixedRunApart) {
  RunRecord run = sample_run();
  for (const CaseRecord& record : sample_backward_run().cases) run.cases.push_back(record);
  const std::vector<AccuracyStudy> studies = study_accuracy(run);
  ASSERT_EQ(studies.size(), 4u);
  EXPECT_EQ(studies[0].output, "o");
  for (const StudiedKernel& kernel : studies[0].kernels) EXPECT_EQ(kernel.cases.size(), 2u);
}

}  // namespace
}  // namespace sparkbench
