#include "results/render/number_format.h"

#include <gtest/gtest.h>

#include <limits>

namespace sparkbench {
namespace {

TEST(Significant, KeepsThatManyDigits) {
  EXPECT_EQ(significant(0.035123, 3), "0.0351");
  EXPECT_EQ(significant(83.456, 3), "83.5");
  EXPECT_EQ(significant(1024.4, 3), "1024");
  EXPECT_EQ(significant(-1.5, 3), "-1.50");
  EXPECT_EQ(significant(1.0, 2), "1.0");
}

TEST(Significant, CountsTheDigitThatRoundingCarriesInto) {
  EXPECT_EQ(significant(9.996, 3), "10.0");
  EXPECT_EQ(significant(0.09996, 3), "0.100");
}

TEST(Significant, WritesTheSmallWithAnExponent) {
  EXPECT_EQ(significant(3.4567e-7, 2), "3.5e-07");
  EXPECT_EQ(significant(1e-4, 2), "0.00010");
}

TEST(Significant, WritesZeroAndWhatIsNotFinite) {
  EXPECT_EQ(significant(0.0, 3), "0");
  EXPECT_EQ(significant(-0.0, 3), "0");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity(), 3), "-");
  EXPECT_EQ(significant(std::numeric_limits<double>::quiet_NaN(), 3), "-");
}

TEST(Scientific, HasAnExponentAlways) {
  EXPECT_EQ(scientific(0.0351, 3), "3.51e-02");
  EXPECT_EQ(scientific(12.0, 2), "1.2e+01");
  EXPECT_EQ(scientific(0.0, 3), "0");
  EXPECT_EQ(scientific(std::numeric_limits<double>::quiet_NaN(), 3), "-");
}

TEST(Memory, IsInTheLargestUnitThatLeavesOne) {
  EXPECT_EQ(format_memory(0), "0 B");
  EXPECT_EQ(format_memory(1023), "1023 B");
  EXPECT_EQ(format_memory(1024), "1.00 KiB");
  EXPECT_EQ(format_memory(3ull << 19), "1.50 MiB");
  EXPECT_EQ(format_memory(16ull << 30), "16.0 GiB");
  EXPECT_EQ(format_memory(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

}  // namespace
}  // namespace sparkbench
