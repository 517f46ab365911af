#include "results/render/text_table.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

const TableView kTerminal;
const TableView kAsMarkdown{.style = TableStyle::kMarkdown};

const std::vector<TextColumn> sample_columns = {{"kernel", {"a", "longer-name"}, false},
                                                {"time_ms", {"1.5", "12.25"}},
                                                {"status", {"ok", ""}, false}};

TEST(TextTable, AlignsForATerminal) {
  EXPECT_EQ(format_columns(sample_columns, kTerminal),
            "kernel       time_ms  status\n"
            "-----------  -------  ------\n"
            "a                1.5  ok\n"
            "longer-name    12.25\n");
}

TEST(TextTable, AlignsAsMarkdown) {
  EXPECT_EQ(format_columns(sample_columns, kAsMarkdown),
            "| kernel      | time_ms | status |\n"
            "| ----------- | ------: | ------ |\n"
            "| a           |     1.5 | ok     |\n"
            "| longer-name |   12.25 |        |\n");
}

TEST(TextTable, EscapesBarsInMarkdownOnly) {
  const std::vector<TextColumn> columns = {{"|x|", {"1"}}};
  EXPECT_EQ(format_columns(columns, kAsMarkdown), "| \\|x\\| |\n| ----: |\n|     1 |\n");
  EXPECT_EQ(format_columns(columns, kTerminal), "|x|\n---\n  1\n");
}

TEST(TextTable, IsEmptyWithoutColumnsNotWithoutRows) {
  EXPECT_EQ(format_columns({}, kTerminal), "");
  EXPECT_EQ(format_columns({{"x", {}}}, kTerminal), "x\n-\n");
}

TEST(TextTable, EndsTitlesOfTwoLinesOnTheSameLine) {
  const std::vector<TextColumn> columns = {{"kernel", {"a"}, false}, {"time\nms", {"12.25"}}};
  EXPECT_EQ(format_columns({{"TFLOP\n/s", {"1"}}, {"a/\nb", {"2"}}}, kAsMarkdown),
            "| TFLOP/s | a/b |\n| ------: | --: |\n|       1 |   2 |\n");
  EXPECT_EQ(format_columns(columns, kTerminal),
            "         time\n"
            "kernel     ms\n"
            "------  -----\n"
            "a       12.25\n");
  EXPECT_EQ(format_columns(columns, kAsMarkdown),
            "| kernel | time ms |\n"
            "| ------ | ------: |\n"
            "| a      |   12.25 |\n");
}

TEST(TextTable, ComesInBlocksWhereItDoesNotFit) {
  const std::vector<TextColumn> columns = {
      {"kernel", {"a"}, false}, {"one", {"1"}}, {"two", {"2"}}, {"three", {"3"}}};
  EXPECT_EQ(format_columns(columns, {.width = 16}),
            "kernel  one  two\n"
            "------  ---  ---\n"
            "a         1    2\n"
            "\n"
            "kernel  three\n"
            "------  -----\n"
            "a           3\n");
  EXPECT_EQ(format_columns(columns, {.width = 23}),
            "kernel  one  two  three\n"
            "------  ---  ---  -----\n"
            "a         1    2      3\n");
  EXPECT_EQ(format_columns(columns, {.style = TableStyle::kMarkdown, .width = 16}),
            format_columns(columns, kAsMarkdown));
}

TEST(TextTable, NarrowsItsGapsBeforeItBreaks) {
  const std::vector<TextColumn> columns = {
      {"kernel", {"a"}, false}, {"one", {"1"}}, {"two", {"2"}}};
  EXPECT_EQ(format_columns(columns, {.width = 14}),
            "kernel one two\n"
            "------ --- ---\n"
            "a        1   2\n");
}

TEST(TextTable, KeepsAColumnThatIsWiderThanTheLine) {
  EXPECT_EQ(format_columns({{"k", {"a"}}, {"wide", {"123456789"}}}, {.width = 5}),
            "k      wide\n"
            "- ---------\n"
            "a 123456789\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  EXPECT_EQ(format_columns({{"k", {"\u00e4\u00f6", "abc"}}, {"x", {"1", "2"}}}, kTerminal),
            "  k  x\n---  -\n \u00e4\u00f6  1\nabc  2\n");
}

Ink bad_if_x(std::string_view cell) { return cell.starts_with("x") ? Ink::kBad : Ink::kPlain; }

TEST(TextTable, ColoursForATerminalThatObeysAlone) {
  const std::vector<TextColumn> columns = {{"k", {"x", "y"}, false, bad_if_x}};
  EXPECT_EQ(format_columns(columns, {.has_color = true}),
            "\x1b[1mk\x1b[0m\n-\n\x1b[31mx\x1b[0m\ny\n");
  EXPECT_EQ(format_columns(columns, kTerminal), "k\n-\nx\ny\n");
}

TEST(Wrapped, BreaksAtSpacesAndIndentsTheRest) {
  const TableView view{.width = 12, .wraps_text = true};
  EXPECT_EQ(wrapped("one two three four\n", view), "one two\n  three four\n");
  EXPECT_EQ(wrapped("one two 3456\n", view), "one two 3456\n");
  EXPECT_EQ(wrapped("short\n\n  an indented line stays whole\n", view),
            "short\n\n  an indented line stays whole\n");
  EXPECT_EQ(wrapped("a-word-wider-than-all b", view), "a-word-wider-than-all\n  b");
}

TEST(Wrapped, KeepsThePercentSignBesideItsNumber) {
  EXPECT_EQ(wrapped("it is 12.5 % of", {.width = 10, .wraps_text = true}), "it is\n  12.5 %\n  of");
}

TEST(Wrapped, LeavesLinesOfAPipeAlone) {
  EXPECT_EQ(wrapped("one two three four\n", {.width = 12}), "one two three four\n");
  EXPECT_EQ(wrapped("one two\n", {.wraps_text = true}), "one two\n");
}

TEST(TextTable, LetsNoCellRuleTheTerminal) {
  EXPECT_EQ(format_columns({{"\x1b[2J", {"x"}}}, kTerminal), "?[2J\n----\n   x\n");
  EXPECT_EQ(format_columns({{"x", {"a\nb\x1b[2J"}}}, kTerminal), "      x\n-------\na b?[2J\n");
}

TEST(TextTable, BreaksCellsThatLeaveOthersNoRoom) {
  const std::vector<TextColumn> columns = {
      {"case", {"volta-fp32acc/fwd/b8/h32/sq2048/d64", "b"}, false},
      {"ms", {"12.5", "1.5"}},
      {"verdict", {"failed (misaligned address)", "same"}, false}};
  EXPECT_EQ(format_columns(columns, {.width = 40}),
            "case              ms  verdict\n"
            "--------------  ----  ------------------\n"
            "volta-fp32acc/  12.5  failed (misaligned\n"
            "  fwd/b8/h32/           address)\n"
            "  sq2048/d64\n"
            "b                1.5  same\n");
  EXPECT_EQ(format_columns(columns, {.width = 80}), format_columns(columns, {}));
}

const std::vector<Fact> sample_facts = {{"name", "V100"},
                                        {"container", "one for a V100, one for newer cards"}};

TEST(FactLines, HaveTheirTextsBelowEachOther) {
  EXPECT_EQ(format_facts(sample_facts, {}),
            "  name      V100\n"
            "  container one for a V100, one for newer cards\n");
}

TEST(FactLines, GoOnBelowWhereTheyBegan) {
  EXPECT_EQ(format_facts(sample_facts, {.width = 36}),
            "  name      V100\n"
            "  container one for a V100, one for\n"
            "            newer cards\n");
}

TEST(FactLines, AreIndentedByFourWhereNamesAreLong) {
  EXPECT_EQ(format_facts(sample_facts, {.width = 30}),
            "  name      V100\n"
            "  container one for a V100,\n"
            "    one for newer cards\n");
}

TEST(FactLines, HaveNoneOfWhatATerminalObeys) {
  EXPECT_EQ(format_facts(std::vector<Fact>{{"a\n", "b\x1b[1m\nc"}}, {}), "  a  b?[1m c\n");
}

}  // namespace
}  // namespace sparkbench
