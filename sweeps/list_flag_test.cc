#include "sweeps/list_flag.h"

#include <gtest/gtest.h>

#include <functional>

#include "kernels/testing/messages.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Ints = std::vector<int>;

std::string error_of(const std::function<void()>& parse) {
  return message_of<UsageError>([&] { parse(); });
}

std::string extents_error(std::string_view text) {
  return error_of([&] { parse_extents("--seqlen", text); });
}

bool starts_with(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

TEST(Extents, ReadsNumbersAndSuffixes) {
  EXPECT_EQ(parse_extents("--seqlen", "1"), Ints({1}));
  EXPECT_EQ(parse_extents("--seqlen", "512,1k,4K,16m"), Ints({512, 1024, 4096, 1 << 24}));
}

TEST(Extents, ReadsGeometricAndArithmeticRanges) {
  EXPECT_EQ(parse_extents("--seqlen", "512:16k:*2"), Ints({512, 1024, 2048, 4096, 8192, 16384}));
  EXPECT_EQ(parse_extents("--seqlen", "64:256:+64"), Ints({64, 128, 192, 256}));
}

TEST(Extents, EndsARangeAtTheLastFit) {
  EXPECT_EQ(parse_extents("--seqlen", "3:20:*3"), Ints({3, 9}));
  EXPECT_EQ(parse_extents("--seqlen", "1:6:+2"), Ints({1, 3, 5}));
  EXPECT_EQ(parse_extents("--seqlen", "7:7:*2"), Ints({7}));
}

TEST(Extents, MixesListsAndRangesAndDropsDuplicates) {
  EXPECT_EQ(parse_extents("--seqlen", "128,64:256:*2,500,128"), Ints({128, 64, 256, 500}));
}

TEST(Extents, DoesNotOverflowAtARangesEnd) {
  EXPECT_EQ(parse_extents("--seqlen", "16m:16m:*16m"), Ints({1 << 24}));
  EXPECT_EQ(parse_extents("--seqlen", "8m:16m:+16m"), Ints({1 << 23}));
}

TEST(Extents, SaysWhatIsWrongAndWhatIsAllowed) {
  EXPECT_EQ(extents_error("12x"),
            "--seqlen: '12x' is not a whole number; allowed: whole numbers from 1 to 16m (suffix k "
            "= 1024, m = 1024k), ranges first:last:*factor or first:last:+step, and comma lists of "
            "both");
}

TEST(Extents, RefusesWhatIsNotAPositiveWholeNumber) {
  EXPECT_TRUE(starts_with(extents_error("abc"), "--seqlen: 'abc' is not a whole number;"));
  EXPECT_TRUE(starts_with(extents_error("1.5"), "--seqlen: '1.5' is not a whole number;"));
  EXPECT_TRUE(starts_with(extents_error("1kk"), "--seqlen: '1kk' is not a whole number;"));
  EXPECT_TRUE(starts_with(extents_error("+4"), "--seqlen: '+4' is not a whole number;"));
  EXPECT_TRUE(starts_with(extents_error(" 4"), "--seqlen: ' 4' is not a whole number;"));
  EXPECT_TRUE(starts_with(extents_error("k"), "--seqlen: 'k' is not a whole number;"));
  EXPECT_TRUE(starts_with(extents_error("0"), "--seqlen: '0' is below 1;"));
  EXPECT_TRUE(starts_with(extents_error("-8"), "--seqlen: '-8' is below 1;"));
}

TEST(Extents, RefusesAbsurdSizesWithoutOverflow) {
  EXPECT_TRUE(starts_with(extents_error("16777217"), "--seqlen: '16777217' is too large;"));
  EXPECT_TRUE(starts_with(extents_error("17m"), "--seqlen: '17m' is too large;"));
  EXPECT_TRUE(starts_with(extents_error("9223372036854775807k"),
                          "--seqlen: '9223372036854775807k' is too large;"));
  EXPECT_TRUE(starts_with(extents_error("99999999999999999999"),
                          "--seqlen: '99999999999999999999' is too large;"));
}

TEST(Extents, RefusesEmptyItems) {
  for (const char* text : {"", ",", "64,", ",64", "64,,128"}) {
    EXPECT_EQ(extents_error(text), std::string("--seqlen: '") + text +
                                       "' has an empty item; allowed: values separated by single "
                                       "commas");
  }
}

TEST(Extents, RefusesMalformedRanges) {
  EXPECT_TRUE(starts_with(extents_error("64:128"), "--seqlen: '64:128' is a range without a step"));
  EXPECT_TRUE(starts_with(extents_error("64:128:"), "--seqlen: '64:128:' is a range without a"));
  EXPECT_TRUE(starts_with(extents_error("64:128:2"),
                          "--seqlen: '64:128:2' has a step that starts with neither * nor +;"));
  EXPECT_TRUE(starts_with(extents_error("128:64:*2"),
                          "--seqlen: '128:64:*2' runs from the larger to the smaller;"));
  EXPECT_TRUE(starts_with(extents_error("64:128:*1"),
                          "--seqlen: '64:128:*1' has a factor of 1 and would never end;"));
  EXPECT_TRUE(starts_with(extents_error("64:128:+0"), "--seqlen: '64:128:+0' is below 1;"));
  EXPECT_TRUE(starts_with(extents_error("64:128:*2:3"), "--seqlen: '64:128:*2:3' is not a whole"));
  EXPECT_TRUE(starts_with(extents_error(":128:*2"), "--seqlen: ':128:*2' is not a whole number;"));
}

TEST(Extents, RefusesARangeOfAbsurdlyManyValues) {
  EXPECT_EQ(parse_extents("--seqlen", "1:1k:+1").size(), 1024u);
  EXPECT_EQ(extents_error("1:16m:+1"),
            "--seqlen: '1:16m:+1' has too many values; allowed: at most 1024 values an axis");
}

TEST(Extent, IsOneNumber) {
  EXPECT_EQ(parse_extent("--hidden", "2k"), 2048);
  EXPECT_EQ(error_of([] { parse_extent("--hidden", "1,2"); }),
            "--hidden: '1,2' is a list; allowed: one whole number from 1 to 16m");
}

TEST(ExtentOrAuto, IsANumberOrNothing) {
  EXPECT_EQ(parse_extent_or_auto("--batch", "4"), 4);
  EXPECT_EQ(parse_extent_or_auto("--batch", "auto"), std::nullopt);
  EXPECT_TRUE(starts_with(error_of([] { parse_extent_or_auto("--batch", "aut"); }),
                          "--batch: 'aut' is not a whole number, did you mean 'auto'?; allowed: "));
  EXPECT_TRUE(starts_with(error_of([] { parse_extent_or_auto("--batch", "automatic"); }),
                          "--batch: 'automatic' is not a whole number;"));
}

TEST(Booleans, AreTrueFalseOrBoth) {
  EXPECT_EQ(parse_booleans("--causal", "true"), std::vector<bool>({true}));
  EXPECT_EQ(parse_booleans("--causal", "false"), std::vector<bool>({false}));
  EXPECT_EQ(parse_booleans("--causal", "both"), std::vector<bool>({false, true}));
  EXPECT_EQ(error_of([] { parse_booleans("--causal", "yes"); }),
            "--causal: unknown 'yes'; allowed: true, false, both");
}

TEST(Probabilities, ReadsAListAndDropsDuplicates) {
  EXPECT_EQ(parse_probabilities("--dropout", "0,0.1,0.5,1e-1"),
            std::vector<float>({0.0f, 0.1f, 0.5f}));
}

TEST(Probabilities, RefusesWhatIsOutsideOrNotANumber) {
  constexpr std::string_view kAllowed = "; allowed: numbers p with 0 <= p < 1, separated by commas";
  for (const char* outside : {"1", "1.5", "-0.1", "nan", "inf"}) {
    EXPECT_EQ(error_of([&] { parse_probabilities("--dropout", outside); }),
              std::string("--dropout: '") + outside + "' is outside [0, 1)" + kAllowed.data());
  }
  for (const char* text : {"a tenth", "0.1x", "10%"}) {
    EXPECT_EQ(error_of([&] { parse_probabilities("--dropout", text); }),
              std::string("--dropout: '") + text + "' is not a number" + kAllowed.data());
  }
  EXPECT_TRUE(starts_with(error_of([] { parse_probabilities("--dropout", "0.1,"); }),
                          "--dropout: '0.1,' has an empty item;"));
}

TEST(Extents, AreAtMostAThousand) {
  std::string text = "1";
  for (int i = 2; i <= 1024; ++i) text.append(",").append(std::to_string(i));
  EXPECT_EQ(parse_extents("--seqlen", text).size(), 1024u);
  try {
    parse_extents("--seqlen", text + ",1025");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--seqlen: the list has too many values; allowed: at most 1024 values an axis");
  }
}

}  // namespace
}  // namespace sparkbench
