#include "results/render/sheet.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

Sheet sample_sheet() {
  return {"Resources",
          {{"kernel", {"kernel", {"a/fwd/d64", "a/bwd/d64"}, false}},
           {"sm", {"sm", {"70", "70"}}},
           {"limited_by", {"limited\nby", {"registers", "registers"}}},
           {"stack", {"stack", {"-", "-"}}},
           {"registers", {"registers", {"128", "255"}}}}};
}

TEST(Sheet, ShowsWhatVariesAndSaysTheRestInItsHead) {
  EXPECT_EQ(format_sheet(sample_sheet(), {}),
            "Resources: kernel a/*/d64, sm 70, limited by registers\n"
            "\n"
            "kernel  registers\n"
            "------  ---------\n"
            "fwd           128\n"
            "bwd           255\n");
}

TEST(Sheet, FoldsNothingOfOneRow) {
  Sheet sheet = sample_sheet();
  for (SheetColumn& column : sheet.columns) column.text.cells.pop_back();
  EXPECT_EQ(format_sheet(sheet, {}),
            "Resources\n"
            "\n"
            "                 limited\n"
            "kernel     sm         by  registers\n"
            "---------  --  ---------  ---------\n"
            "a/fwd/d64  70  registers        128\n");
}

TEST(Sheet, ShowsTheColumnsThatAreAskedFor) {
  EXPECT_EQ(format_sheet(sample_sheet(), {.columns = {"registers", "stack"}}),
            "Resources\n"
            "\n"
            "kernel     registers  stack\n"
            "---------  ---------  -----\n"
            "a/fwd/d64        128      -\n"
            "a/bwd/d64        255      -\n");
  EXPECT_EQ(format_sheet(sample_sheet(), {.columns = {"threads"}}), "");
}

TEST(Sheet, ShowsAllAndFoldsNothingForAll) {
  const std::string text = format_sheet(sample_sheet(), {.columns = {"all"}});
  EXPECT_EQ(text.substr(0, 11), "Resources\n\n");
  for (const char* const part : {"a/bwd/d64  70", "limited", "stack", "255"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
}

TEST(Sheet, CutsWhatNamesBeginWithWhereTheyAreOfUnlikeParts) {
  Sheet sheet{"", {{"case", {"case", {"a/fwd/d64/x", "a/fwd/d64", "a/fwd/d32"}, false}}}};
  EXPECT_EQ(format_sheet(sheet, {}),
            "case a/fwd/*\n"
            "\n"
            "case\n"
            "-----\n"
            "d64/x\n"
            "d64\n"
            "d32\n");
  sheet.columns[0].text.cells = {"a", "a/b"};
  EXPECT_EQ(format_sheet(sheet, {}), "case\n----\na\na/b\n");
  sheet.columns[0].text.cells = {"a/b", "a/b"};
  EXPECT_EQ(format_sheet(sheet, {}), "case\n----\na/b\na/b\n");
}

TEST(Sheet, NamesEachColumnOnce) {
  const std::vector<Sheet> sheets = {sample_sheet(), sample_sheet()};
  EXPECT_EQ(column_names(sheets),
            std::vector<std::string>({"kernel", "sm", "limited_by", "stack", "registers", "all"}));
}

}  // namespace
}  // namespace sparkbench
