#include "results/render/fact_lines.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

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
