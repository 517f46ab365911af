#include "results/record/software_factor.h"

#include <gtest/gtest.h>

#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

TEST(SoftwareFactor, ReadsItsOwnText) {
  const SoftwareFactor software = parse_software_factor("launches-of-pytorch-1.13=1.32");
  EXPECT_EQ(software.name, "launches-of-pytorch-1.13");
  EXPECT_EQ(software.factor, 1.32);
  EXPECT_EQ(text_of(software), "launches-of-pytorch-1.13=1.32");
}

TEST(SoftwareFactor, WantsANameAndAFactor) {
  for (const char* const text :
       {"", "1.32", "=1.32", "launches", "launches=", "launches=fast", "launches=nan", "launches=0",
        "launches=11", "launches=1.32x", "two words=1.32", "launches=1=1"}) {
    EXPECT_THROW(parse_software_factor(text), UsageError) << text;
  }
  EXPECT_THROW(parse_software_factor(std::string(65, 'a') + "=1"), UsageError);
}

}  // namespace
}  // namespace sparkbench
