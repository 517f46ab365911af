#include "results/render/text_table.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

const std::vector<TextColumn> sample_columns = {{"kernel", {"a", "longer-name"}, false},
                                                {"time_ms", {"1.5", "12.25"}},
                                                {"status", {"ok", ""}, false}};

TEST(TextTable, AlignsForATerminal) {
  EXPECT_EQ(format_columns(sample_columns, TableStyle::kTerminal),
            "kernel       time_ms  status\n"
            "-----------  -------  ------\n"
            "a                1.5  ok\n"
            "longer-name    12.25\n");
}

TEST(TextTable, AlignsAsMarkdown) {
  EXPECT_EQ(format_columns(sample_columns, TableStyle::kMarkdown),
            "| kernel      | time_ms | status |\n"
            "| ----------- | ------: | ------ |\n"
            "| a           |     1.5 | ok     |\n"
            "| longer-name |   12.25 |        |\n");
}

TEST(TextTable, EscapesBarsInMarkdownOnly) {
  const std::vector<TextColumn> columns = {{"|x|", {"1"}}};
  EXPECT_EQ(format_columns(columns, TableStyle::kMarkdown), "| \\|x\\| |\n| ----: |\n|     1 |\n");
  EXPECT_EQ(format_columns(columns, TableStyle::kTerminal), "|x|\n---\n  1\n");
}

TEST(TextTable, IsEmptyWithoutColumnsNotWithoutRows) {
  EXPECT_EQ(format_columns({}, TableStyle::kTerminal), "");
  EXPECT_EQ(format_columns({{"x", {}}}, TableStyle::kTerminal), "x\n-\n");
}

TEST(TextTable, LetsNoCellRuleTheTerminal) {
  EXPECT_EQ(format_columns({{"x", {"a\nb\x1b[2J"}}}, TableStyle::kTerminal),
            "      x\n-------\na b?[2J\n");
}

}  // namespace
}  // namespace sparkbench
