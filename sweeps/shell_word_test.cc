#include "sweeps/shell_word.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

TEST(ShellWord, LeavesPlainWordsAsTheyAre) {
  EXPECT_EQ(plain_or_shell_word("uniform:1:2048"), "uniform:1:2048");
  EXPECT_EQ(plain_or_shell_word("file:runs/x.txt"), "file:runs/x.txt");
  EXPECT_EQ(plain_or_shell_word("file:my lengths"), "'file:my lengths'");
  EXPECT_EQ(plain_or_shell_word("$(x)"), "'$(x)'");
  EXPECT_EQ(plain_or_shell_word(""), "''");
}

}  // namespace
}  // namespace sparkbench
