#include "results/record/case_record.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

Problem sample_problem() {
  Problem problem;
  problem.batch = 2;
  problem.heads = 3;
  problem.seqlen_q = 5;
  problem.seqlen_k = 7;
  problem.head_dim = 128;
  problem.mask = MaskSpec::causal_if(true);
  problem.dropout_p = 0.1f;
  problem.seed = 0xFEDCBA9876543210u;
  return problem;
}

TEST(ProblemRecord, HoldsTheProblemWithItsDefaultsApplied) {
  const ProblemRecord record = make_problem_record(Pass::kBackward, sample_problem());
  EXPECT_EQ(record.pass, Pass::kBackward);
  EXPECT_EQ(record.batch, 2);
  EXPECT_EQ(record.heads, 3);
  EXPECT_EQ(record.seqlen_q, 5);
  EXPECT_EQ(record.seqlen_k, 7);
  EXPECT_EQ(record.head_dim, 128);
  EXPECT_TRUE(record.causal);
  EXPECT_EQ(record.dropout_p, 0.1f);
  EXPECT_EQ(record.dropout_p_applied, 26.0f / 256.0f);
  EXPECT_EQ(record.scale, sample_problem().scale());
  EXPECT_EQ(record.seed, 0xFEDCBA9876543210u);
}

TEST(ProblemRecord, GivesTheProblemBack) {
  const Problem problem = make_problem(make_problem_record(Pass::kForward, sample_problem()));
  EXPECT_EQ(problem.q_elements(), sample_problem().q_elements());
  EXPECT_EQ(problem.k_elements(), sample_problem().k_elements());
  EXPECT_EQ(problem.scale(), sample_problem().scale());
  EXPECT_EQ(problem.mask, MaskSpec::causal());
  EXPECT_EQ(problem.dropout_p, 0.1f);
  EXPECT_EQ(problem.seed, sample_problem().seed);
}

TEST(AccuraciesOf, AreOfTheOutputOrOfEachGradient) {
  CaseRecord record;
  EXPECT_TRUE(accuracies_of(record).empty());
  record.gradient_accuracy.emplace();
  const GradientAccuracy& gradients = *record.gradient_accuracy;
  EXPECT_EQ(accuracies_of(record),
            std::vector<const Accuracy*>({&gradients.dq, &gradients.dk, &gradients.dv}));
  record.gradient_accuracy.reset();
  record.accuracy.emplace();
  EXPECT_EQ(accuracies_of(record), std::vector<const Accuracy*>({&*record.accuracy}));
}

TEST(FindAccuracy, IsByTheNameOfTheOutput) {
  const CaseRecord record = sample_backward_run().cases.at(0);
  EXPECT_EQ(find_accuracy(record, "dk"), &record.gradient_accuracy->dk);
  EXPECT_EQ(find_accuracy(record, "o"), nullptr);
  EXPECT_EQ(find_accuracy(CaseRecord(), "dk"), nullptr);
}

}  // namespace
}  // namespace sparkbench
