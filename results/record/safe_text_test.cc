#include "results/record/safe_text.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(Utf8, IsWhatTheStandardAllows) {
  for (const char* const good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* const bad : {"\xff", "n\xff.json", "\xc3", "\xc0\xaf", "\xe0\x80\xaf",
                                "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(Utf8, IsRepairedByteByByte) {
  EXPECT_EQ(repaired_utf8("a\xff"
                          "b\xc3\xa9"),
            "a\xef\xbf\xbd"
            "b\xc3\xa9");
  EXPECT_EQ(repaired_utf8("\x1b[1m"), "\x1b[1m");
}

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[31mb\x07\x7f\n\tc"), "a?[31mb??\n\tc");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "C1, a CSI of one character";
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\xef\xbf\xbd"
            "31m");
  EXPECT_EQ(one_line("a\nb\tc\r"), "a b c?");
}

TEST(PlainCommand, HasNothingThatAShellObeys) {
  EXPECT_TRUE(is_plain_command("sparkbench sweep --kernel volta-* --dropout 0.1"));
  EXPECT_TRUE(is_plain_command("sparkbench run --tensors 'a; b'\\''s $file'"));
  for (const char* const bad : {"sparkbench; rm -r .", "a | sh", "$(id)", "`id`", "a\nb", "a > b",
                                "a & b", "'open", "\x1b[8m"}) {
    EXPECT_FALSE(is_plain_command(bad)) << bad;
  }
}

}  // namespace
}  // namespace sparkbench
