#include "harness/model/sass/mask_code.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

using Flags = std::vector<bool>;

TEST(MaskCode, OfRecordingsIsFourSelectsOfMinusInfinity) {
  const auto masks = find_mask_code(parse_sass_listing(recorded_listing("sass"))[0], true);
  EXPECT_EQ(std::count(masks.begin(), masks.end(), true), 4);
  for (int i = 0x280 / 16; i <= 0x2b0 / 16; ++i) EXPECT_TRUE(masks[i]) << i;
}

TEST(MaskCode, IsAPredicatedMoveOfMinusInfinity) {
  const auto function =
      function_of({"IMAD.MOV.U32 R2, RZ, RZ, -0x800000", "@P0 IMAD.MOV.U32 R2, RZ, RZ, -0x800000",
                   "@!P1 MOV R3, 0xfc00fc00", "@!PT MOV R3, 0x1"});
  EXPECT_EQ(find_mask_code(function, false), (Flags{false, true, true, false}));
}

TEST(MaskCode, IsAPredicatedMergeOfHalfAPair) {
  const auto function = function_of({"LOP3.LUT R145, R206, 0xffff0000, RZ, 0xc0, !PT",
                                     "@!P5 LOP3.LUT R206, R145, 0xfc00, RZ, 0xfc, !PT",
                                     "@!P6 LOP3.LUT R206, R139, 0xfc000000, RZ, 0xfc, !PT",
                                     "LOP3.LUT R206, R139, 0xfc000000, RZ, 0xfc, !PT"});
  EXPECT_EQ(find_mask_code(function, false), (Flags{false, true, true, false}));
}

TEST(MaskCode, IsASelectOfZeroIfAskedFor) {
  const auto function = function_of({"ISETP.GE.AND P0, PT, R1, R2, PT", "FSEL R3, R3, RZ, P0",
                                     "FSETP.NEU.AND P0, PT, R1, -INF, PT", "FSEL R3, R3, RZ, !P0",
                                     "FSEL R3, R4, R5, P0"});
  EXPECT_EQ(find_mask_code(function, true), (Flags{false, true, false, false, false}));
  EXPECT_EQ(find_mask_code(function, false), Flags(5, false));
}

TEST(MaskCode, IsNoGuardOfAnEmptyRow) {
  const auto function = function_of({"FSETP.NEU.AND P0, PT, R1, -INF, PT", "FSEL R3, R3, -INF, P0",
                                     "@!P0 MOV R3, 0xff800000", "ISETP.GE.AND P0, PT, R1, R2, PT",
                                     "FSEL R3, R3, -INF, !P0"});
  EXPECT_EQ(find_mask_code(function, true), (Flags{false, false, false, false, true}));
}

}  // namespace
}  // namespace sparkbench
