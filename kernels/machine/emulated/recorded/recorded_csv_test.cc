#include "kernels/machine/emulated/recorded/recorded_csv.h"

#include <gtest/gtest.h>

#include <sstream>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

const CsvPlace kPlace = {"x.csv", 7, "b"};

TEST(RecordedCsv, ReadsLinesOfEitherEnd) {
  std::istringstream in("a,b\r\n\nc");
  std::string line;
  EXPECT_TRUE(read_line(in, line));
  EXPECT_EQ(line, "a,b");
  EXPECT_TRUE(read_line(in, line));
  EXPECT_EQ(line, "");
  EXPECT_TRUE(read_line(in, line));
  EXPECT_EQ(line, "c");
  EXPECT_FALSE(read_line(in, line));
}

TEST(RecordedCsv, SplitsAtEveryComma) {
  EXPECT_EQ(split_fields("a,,b"), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split_fields(""), std::vector<std::string_view>{""});
}

TEST(RecordedCsv, NamesTheLineWithAWrongFieldCount) {
  check_field_count({"1", "2"}, {"a", "b"}, kPlace);
  EXPECT_EQ(message_of<std::runtime_error>([] {
              check_field_count({"1"}, {"a", "b"}, kPlace);
            }),
            "x.csv: line 7, column b: missing");
  EXPECT_EQ(message_of<std::runtime_error>([] {
              check_field_count({"1", "2", "3"}, {"a", "b"}, kPlace);
            }),
            "x.csv: line 7, column b: 1 more fields after it than the header has");
}

TEST(RecordedCsv, ParsesHexadecimalOfAtMostSoManyDigits) {
  EXPECT_EQ(parse_hexadecimal("7fC00000", 8, kPlace), 0x7fc00000u);
  EXPECT_EQ(message_of<std::runtime_error>([] { parse_hexadecimal("12345", 4, kPlace); }),
            "x.csv: line 7, column b: '12345' has more than 4 digits");
  for (const char* field : {"", "0x1", "-1", "1 "}) {
    EXPECT_EQ(message_of<std::runtime_error>([&] { parse_hexadecimal(field, 8, kPlace); }),
              "x.csv: line 7, column b: '" + std::string(field) + "' is not a hexadecimal number");
  }
}

}  // namespace
}  // namespace sparkbench
