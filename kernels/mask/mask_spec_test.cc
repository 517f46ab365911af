#include "kernels/mask/mask_spec.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

TEST(MaskSpec, IsReadAsItIsWritten) {
  for (const char* const text :
       {"full", "causal", "window:1", "window:256", "band:20:5", "band:0:0", "prefix:0"}) {
    EXPECT_EQ(name_of(parse_mask(text)), text);
  }
  EXPECT_EQ(parse_mask("band:20:5"), MaskSpec::band(20, 5));
}

TEST(MaskSpec, IsOneOffInEachNumber) {
  using Masks = std::vector<MaskSpec>;
  EXPECT_EQ(masks_one_off(MaskSpec::full()), Masks());
  EXPECT_EQ(masks_one_off(MaskSpec::window(1)), Masks({MaskSpec::window(2)}));
  EXPECT_EQ(masks_one_off(MaskSpec::prefix(2147483647)), Masks({MaskSpec::prefix(2147483646)}));
  EXPECT_EQ(masks_one_off(MaskSpec::band(0, 5)),
            Masks({MaskSpec::band(1, 5), MaskSpec::band(0, 4), MaskSpec::band(0, 6)}));
}

std::string why_refused(const char* text) {
  return message_of<std::invalid_argument>([&] { parse_mask(text); });
}

TEST(MaskSpec, HasAFormOfEachMask) {
  EXPECT_EQ(mask_forms().substr(0, 53), "full, causal, window:W (W >= 1), band:L:R (L, R >= 0)");
}

TEST(MaskSpec, SaysWhyATextIsRefused) {
  const std::string allowed = "; allowed: " + std::string(mask_forms());
  EXPECT_EQ(why_refused("windows:3"), "'windows:3' is no mask, did you mean 'window:3'?" + allowed);
  EXPECT_EQ(why_refused("sliding:3"), "'sliding:3' is no mask, did you mean 'window:3'?" + allowed);
  EXPECT_EQ(why_refused("quadrant:3"), "'quadrant:3' is no mask" + allowed);
  EXPECT_EQ(why_refused(""), "'' is no mask" + allowed);
  EXPECT_EQ(why_refused("window"), "'window' has 0 numbers, not 1" + allowed);
  EXPECT_EQ(why_refused("causal:1"), "'causal:1' has 1 numbers, not 0" + allowed);
  EXPECT_EQ(why_refused("window:0"), "'window:0' has a number below 1" + allowed);
  EXPECT_EQ(why_refused("band:-1:2"), "'band:-1:2' has a number below 0" + allowed);
  EXPECT_EQ(why_refused("prefix:x"),
            "'prefix:x' has no whole number where one is wanted" + allowed);
  EXPECT_EQ(why_refused("prefix:3 "),
            "'prefix:3 ' has no whole number where one is wanted" + allowed);
  EXPECT_EQ(why_refused("window:99999999999"),
            "'window:99999999999' has a number beyond 2147483647" + allowed);
}

}  // namespace
}  // namespace sparkbench
