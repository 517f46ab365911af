#include "kernels/mask/pattern/zones_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "kernels/mask/pattern/pattern_spec.h"
#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

Pattern with_zones(const char* text, int seqlen) {
  Pattern pattern = empty_pattern(seqlen, seqlen);
  pattern.unions = {parse_zones(text, seqlen)};
  return pattern;
}

void expect_same(const char* zones, const char* mask, int seqlen) {
  const Pattern want = parse_pattern(mask, seqlen, seqlen);
  const Picture picture(seqlen, seqlen, [&](int q, int k) { return sees(want, 0, q, k); });
  EXPECT_EQ(sees_differ(with_zones(zones, seqlen), 0, picture), "") << zones << " is no " << mask;
}

TEST(ZonesFile, SaysWhatNamesSay) {
  expect_same("d=-4:1", "window:5", 30);
  expect_same("# sinks\nk=:4 d=:1\n\n d=-4:1 # and a window\r\n", "sink:4+window:5", 30);
  expect_same("axes=4x8 d1=0:1", "strided:8", 30);
  expect_same("causal d1=0:1 axes=4x8", "causal-strided:8", 30);
  expect_same("axes=5x6 d0=-1:2 d1=-1:2 clamped", "nd:5x6:3x3", 30);
  expect_same("axes=2x3x5 d0=-1:1 d1=-1:2 d2=-2:3 clamped causal", "causal-nd:2x3x5:2x3x5", 30);
  expect_same("axes=4x8 d0=:0 k1=6:\naxes=4x8 d0=0:1 causal", "fixed:8:2", 30);
  expect_same("d=-3:9 causal", "window:4", 30);
}

std::string why_zones_refused(const char* text) {
  try {
    parse_zones(text, 30);
  } catch (const std::invalid_argument& error) {
    const std::string why = error.what();
    return why.substr(0, why.find("; allowed: q="));
  }
  return "";
}

TEST(ZonesFile, SaysWhyALineIsRefused) {
  EXPECT_EQ(why_zones_refused(" # nothing\n"), "no line is a term");
  EXPECT_EQ(why_zones_refused("d=0:1\nband"), "line 2: 'band' is no word of a term");
  EXPECT_EQ(why_zones_refused("d=0:1 casual"),
            "line 1: 'casual' is no word of a term, did you mean 'causal'?");
  EXPECT_EQ(why_zones_refused("axis=5x6 d0=0:1"),
            "line 1: 'axis=5x6' is no word of a term, did you mean 'axes=5x6'?");
  EXPECT_EQ(why_zones_refused("keys=0:1"), "line 1: 'keys=0:1' is no word of a term");
  EXPECT_EQ(why_zones_refused("d=0"), "line 1: 'd=0' is no range");
  EXPECT_EQ(why_zones_refused("d=0:x"), "line 1: 'd=0:x' has no whole number");
  EXPECT_EQ(why_zones_refused("d=3:3"), "line 1: 'd=3:3' is empty");
  EXPECT_EQ(why_zones_refused("k=0:9999999999"),
            "line 1: 'k=0:9999999999' has a number beyond 536870912");
  EXPECT_EQ(why_zones_refused("d0=0:1"), "line 1: 'd0=0:1' names no range of this term");
  EXPECT_EQ(why_zones_refused("axes=5x6 d2=0:1"), "line 1: 'd2=0:1' names no range of this term");
  EXPECT_EQ(why_zones_refused("axes=5x0"), "line 1: 'axes=5x0' has an axis of less than 1");
  EXPECT_EQ(why_zones_refused("axes=1x2x3x4"), "line 1: 'axes=1x2x3x4' has more than three axes");
  EXPECT_EQ(why_zones_refused("clamped"), "line 1: 'clamped' is of a term without axes");
  EXPECT_EQ(why_zones_refused("axes=5x7 d0=0:1 d1=0:1 clamped"),
            "line 1: the axes 5x7 have 35 positions and seqlen_k is 30; allowed: axes of as many "
            "positions");
  EXPECT_EQ(why_zones_refused("axes=5x6 d0=0:1 d1=0:9 clamped"),
            "line 1: a window of 9 on an axis of 6; allowed: 1 to 6");
  EXPECT_EQ(why_zones_refused("axes=1x9000x9000"),
            "line 1: the axes 1x9000x9000 have more than 67108864 positions");
}

TEST(ZonesFile, IsReadByItsName) {
  const std::string path = testing::TempDir() + "/sparkbench+a/b.zones";
  EXPECT_THROW(parse_pattern("zones:" + path, 8, 8), std::invalid_argument);
  EXPECT_THROW(parse_pattern("zones:" + testing::TempDir(), 8, 8), std::invalid_argument);
  const std::string file = testing::TempDir() + "sparkbench_zones_file_test";
  std::ofstream(file) << "d=0:1\n";
  const Pattern pattern = parse_pattern("sink:1+zones:" + file, 8, 8);
  EXPECT_TRUE(sees(pattern, 0, 5, 5));
  EXPECT_TRUE(sees(pattern, 0, 5, 0));
  EXPECT_FALSE(sees(pattern, 0, 5, 4));
}

}  // namespace
}  // namespace sparkbench
