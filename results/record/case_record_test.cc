#include "results/record/case_record.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

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
