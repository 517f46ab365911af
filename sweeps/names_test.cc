#include "sweeps/names.h"

#include <gtest/gtest.h>

#include "kernels/testing/messages.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Names = std::vector<std::string>;

const Names known_names = {"volta-fp32acc", "volta-fp16acc", "unfused-fp16"};

std::string selection_error(std::string_view globs) {
  return message_of<UsageError>([&] { select_names("--kernel", globs, known_names); });
}

TEST(Glob, MatchesTheWholeName) {
  EXPECT_TRUE(glob_matches("volta-fp32acc", "volta-fp32acc"));
  EXPECT_FALSE(glob_matches("volta", "volta-fp32acc"));
  EXPECT_FALSE(glob_matches("volta-fp32acc", "volta"));
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "volta"));
}

TEST(Glob, StarIsAnyCharactersQuestionMarkOne) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("volta-*", "volta-"));
  EXPECT_TRUE(glob_matches("volta-*", "volta-fp32acc"));
  EXPECT_TRUE(glob_matches("*fp??acc", "volta-fp32acc"));
  EXPECT_TRUE(glob_matches("*a*a*", "volta-fp32acc"));
  EXPECT_FALSE(glob_matches("volta-?", "volta-"));
  EXPECT_FALSE(glob_matches("*x*", "volta"));
}

TEST(SelectNames, KeepsTheKnownOrderAndNamesEachOnce) {
  EXPECT_EQ(select_names("--kernel", "unfused-fp16,volta-*,*fp32acc", known_names), known_names);
  EXPECT_EQ(select_names("--kernel", "*16*", known_names),
            Names({"volta-fp16acc", "unfused-fp16"}));
}

TEST(SelectNames, RefusesAGlobThatSelectsNothing) {
  EXPECT_EQ(selection_error("volta-*,volta-fp32ac"),
            "--kernel: unknown 'volta-fp32ac', did you mean 'volta-fp32acc'?; allowed: "
            "volta-fp32acc, volta-fp16acc, unfused-fp16");
  EXPECT_EQ(selection_error("flash"),
            "--kernel: unknown 'flash'; allowed: volta-fp32acc, volta-fp16acc, unfused-fp16");
  EXPECT_EQ(selection_error("volta-*,"),
            "--kernel: 'volta-*,' has an empty item; allowed: values separated by single commas");
}

}  // namespace
}  // namespace sparkbench
