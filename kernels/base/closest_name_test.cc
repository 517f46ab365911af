#include "kernels/base/closest_name.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

using Names = std::vector<std::string>;

const Names known_kernels = {"volta-fp32acc", "volta-fp16acc", "unfused-fp16"};

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("same", "same"), 0);
  EXPECT_EQ(edit_distance("Causal", "cAUSAL"), 0);
}

TEST(ClosestName, FindsASlipAndNotAnotherWord) {
  EXPECT_EQ(closest_name("volta-fp32ac", known_kernels), "volta-fp32acc");
  EXPECT_EQ(closest_name("unfused-f16", known_kernels), "unfused-fp16");
  EXPECT_EQ(closest_name("VOLTA-FP16ACC", known_kernels), "volta-fp16acc");
  EXPECT_EQ(closest_name("flash", known_kernels), "");
  EXPECT_EQ(closest_name("volta", Names{}), "");
}

TEST(ClosestName, TakesAnyRangeOfTexts) {
  constexpr std::string_view kShells[] = {"bash", "zsh"};
  EXPECT_EQ(closest_name("bsah", kShells), "bash");
}

TEST(DidYouMean, AsksOnlyWhenThereIsAName) {
  EXPECT_EQ(did_you_mean("causal"), ", did you mean 'causal'?");
  EXPECT_EQ(did_you_mean(""), "");
}

}  // namespace
}  // namespace sparkbench
