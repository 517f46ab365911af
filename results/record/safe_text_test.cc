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

TEST(MarkdownText, ShowsAsItIs) {
  EXPECT_EQ(markdown_text("volta-fp32acc/fwd, 1.5x"), "volta-fp32acc/fwd, 1.5x");
  EXPECT_EQ(markdown_text("<b>&amp; [a](b) `c` d|e \\"),
            "&lt;b>&amp;amp; \\[a\\](b) \\`c\\` d\\|e \\\\");
}

TEST(CsvText, IsNoFormula) {
  EXPECT_EQ(csv_text("volta-fp32acc"), "volta-fp32acc");
  EXPECT_EQ(csv_text(""), "");
  for (const std::string formula : {"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)"}) {
    EXPECT_EQ(csv_text(formula), "'" + formula);
  }
  EXPECT_EQ(csv_text("\tx"), "'\tx");
  EXPECT_EQ(csv_text("a\x1b[8mb\xff"), "a?[8mb\xef\xbf\xbd");
}

TEST(Bounded, KeepsBothEndsOfALongText) {
  const std::string fits(2000, 'x');
  EXPECT_EQ(bounded(fits), fits);
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "\xc3\xa9";
  const std::string cut = bounded("begin" + text + "end");
  EXPECT_LT(cut.size(), 2100u);
  EXPECT_TRUE(cut.starts_with("begin"));
  EXPECT_TRUE(cut.ends_with("end"));
  EXPECT_NE(cut.find(" ... (98008 bytes left out) ... "), std::string::npos) << cut;
  EXPECT_TRUE(is_utf8(cut));
}

}  // namespace
}  // namespace sparkbench
