#include "results/render/broken_text.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

using Lines = std::vector<std::string>;

TEST(Broken, LeavesWhatFits) {
  EXPECT_EQ(broken("", 5), Lines{""});
  EXPECT_EQ(broken("a bcd", 5), Lines{"a bcd"});
}

TEST(Broken, BreaksAtSpacesAndBehindMarks) {
  EXPECT_EQ(broken("causal, full and more", 12), Lines({"causal, full", "and more"}));
  EXPECT_EQ(broken("volta-fp32acc/fwd/d64", 16), Lines({"volta-fp32acc/", "fwd/d64"}));
  EXPECT_EQ(broken("a long-word/behind", 14), Lines({"a long-word/", "behind"}));
}

TEST(Broken, BreaksWhatHasNoPlaceAnywhere) {
  EXPECT_EQ(broken("abcdefgh", 3), Lines({"abc", "def", "gh"}));
  EXPECT_EQ(broken("abc", 0), Lines({"a", "b", "c"}));
}

TEST(Broken, IndentsWhatFollows) {
  EXPECT_EQ(broken("one two three", 8, 2), Lines({"one two", "  three"}));
  EXPECT_EQ(broken("abcdefgh", 4, 2), Lines({"abcd", "  ef", "  gh"}));
}

TEST(Broken, KeepsCharactersOfSeveralBytesWhole) {
  EXPECT_EQ(broken("\u00b5\u00b5\u00b5", 2), Lines({"\u00b5\u00b5", "\u00b5"}));
  EXPECT_EQ(characters_in("\u00b5s"), 2);
}

TEST(BrokenText, KeepsWordsWhole) {
  EXPECT_EQ(broken("volta/fp32/acc b c d", 6, 2, Words::kWhole),
            std::vector<std::string>({"volta/fp32/acc", "  b c", "  d"}));
  EXPECT_EQ(broken("it is 12.5 % of", 10, 0, Words::kWhole),
            std::vector<std::string>({"it is", "12.5 % of"}));
}

}  // namespace
}  // namespace sparkbench
