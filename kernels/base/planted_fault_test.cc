#include "kernels/base/planted_fault.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

#ifndef SPARKBENCH_PLANT_FAULTS

// A macro's expansion, as text.
#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)

static_assert(!planted(Fault::kMaskPastEnd), "known when a normal build is compiled");

TEST(PlantedFault, LeavesANormalBuildTheSoundExpressionAlone) {
  EXPECT_STREQ(TEXT_OF(SPARK_PLANTED(kMaskPastEnd, key >= end, key > end)), "key >= end");
  EXPECT_STREQ(TEXT_OF(a / SPARK_PLANTED(kDeltaWithoutDropout, b + c, 1.0f)), "a / b + c");
}

TEST(PlantedFault, LeavesANormalBuildTheStatement) {
  EXPECT_STREQ(TEXT_OF(SPARK_UNLESS_PLANTED(kSumNotRescaled, l *= f(a, b));), "l *= f(a, b);");
}

#else

TEST(PlantedFault, IsTheOneThatTheEnvironmentNames) {
  ASSERT_EQ(setenv("SPARKBENCH_PLANTED_FAULT", "kMaskPastEnd", 1), 0);
  EXPECT_EQ(planted_fault_of_environment(), static_cast<int>(Fault::kMaskPastEnd));
  EXPECT_TRUE(planted(Fault::kMaskPastEnd));
  EXPECT_FALSE(planted(Fault::kMaskBeforeBegin));
  EXPECT_EQ(SPARK_PLANTED(kMaskPastEnd, 1, 2), 2);
  EXPECT_EQ(SPARK_PLANTED(kMaskBeforeBegin, 1, 2), 1);
  int runs = 0;
  SPARK_UNLESS_PLANTED(kMaskPastEnd, ++runs);
  EXPECT_EQ(runs, 0);
  SPARK_UNLESS_PLANTED(kMaskBeforeBegin, ++runs);
  EXPECT_EQ(runs, 1);
}

TEST(PlantedFault, IsRefusedIfItHasNoSuchName) {
  ASSERT_EQ(setenv("SPARKBENCH_PLANTED_FAULT", "kNoSuchFault", 1), 0);
  EXPECT_THROW(planted_fault_of_environment(), std::invalid_argument);
  ASSERT_EQ(setenv("SPARKBENCH_PLANTED_FAULT", "", 1), 0);
  EXPECT_EQ(planted_fault_of_environment(), -1);
}

#endif

TEST(PlantedFault, SaysOfEachFaultWhatIsWrong) {
  std::set<std::string> names;
#define NAME_AND_SENTENCE(name, kernels, sentence)      \
  EXPECT_TRUE(names.insert(#name).second) << #name;     \
  EXPECT_GT(std::string(sentence).size(), 9u) << #name; \
  EXPECT_TRUE((std::set<std::string>{"volta", "hopper", "both"}.count(#kernels))) << #name;
  SPARK_PLANTED_FAULTS(NAME_AND_SENTENCE)
#undef NAME_AND_SENTENCE
  EXPECT_GE(names.size(), 40u);
}

}  // namespace
}  // namespace sparkbench
