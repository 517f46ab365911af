#include "harness/model/flow/block_paths.h"

#include <gtest/gtest.h>

#include <array>

#include "harness/model/flow/test_warp.h"

namespace sparkbench {
namespace {

TEST(BlockPaths, AreOneForEachWarp) {
  const SassFunction function =
      function_of({"S2R R2, SR_TID.X", "ISETP.GE.AND P0, PT, R2, 0x20, PT", "@P0 EXIT", "EXIT"});
  const LaunchPaths paths(function, launch_with({}, 72));
  const FollowedBlock block = paths.of_block({0, 0, 0});
  ASSERT_EQ(block.paths.size(), 3u);
  EXPECT_EQ(text_of(block.paths[0]), "0 1 2x 3");
  EXPECT_EQ(text_of(block.paths[1]), "0 1 2");
  EXPECT_EQ(text_of(block.paths[2]), "0 1 2");  // of 8 threads
}

TEST(BlockPaths, DependOnTheBlocksPlace) {
  const SassFunction function =
      function_of({"S2R R2, SR_CTAID.Y", "ISETP.NE.AND P0, PT, R2, RZ, PT", "@P0 EXIT", "EXIT"});
  const LaunchPaths paths(function, launch_with({}));
  EXPECT_EQ(text_of(paths.of_block({0, 0, 0}).paths[0]), "0 1 2x 3");
  EXPECT_EQ(text_of(paths.of_block({0, 1, 0}).paths[0]), "0 1 2");
}

TEST(BlockPaths, RefuseOtherArchitecturesAndBlocksOutside) {
  SassFunction function = function_of({"EXIT"});
  const KernelLaunch launch = launch_with({});
  EXPECT_THROW(LaunchPaths(function, launch).of_block({4, 0, 0}), std::invalid_argument);
  EXPECT_THROW(LaunchPaths(function, launch).of_block({0, -1, 0}), std::invalid_argument);
  function.sm = 80;
  EXPECT_THROW(LaunchPaths(function, launch), std::invalid_argument);
}

/// testdata/division.cu, whose stores tell whether quotients and remainders are as expected.
class Division : public testing::Test {
 protected:
  struct Operands {
    std::uint32_t a, b;
    std::int32_t c, d;
  };

  /// How many of four results are what C++ makes of the operands.
  int right_results(const Operands& of, std::uint32_t error = 0) const {
    const std::vector<std::uint32_t> parameters = {0x1000,
                                                   0,
                                                   of.a,
                                                   of.b,
                                                   static_cast<std::uint32_t>(of.c),
                                                   static_cast<std::uint32_t>(of.d),
                                                   of.a / of.b + error,
                                                   of.a % of.b + error,
                                                   static_cast<std::uint32_t>(of.c / of.d) + error,
                                                   static_cast<std::uint32_t>(of.c % of.d) + error};
    const LaunchPaths paths(function_, launch_with(parameters));
    const FollowedBlock block = paths.of_block({0, 0, 0});
    EXPECT_TRUE(block.notes.empty());
    int stores = 0;
    for (const PathStep& step : block.paths[0]) {
      stores += function_.instructions[step.instruction].opcode == "STG" && step.is_executed;
    }
    return stores;
  }

 private:
  SassFunction function_ = parse_sass_listing(
      text_of_file(std::filesystem::path(SPARKBENCH_TESTDATA) / "division.sass"))[0];
};

TEST_F(Division, OfIntegersIsExact) {
  constexpr std::array<std::uint32_t, 12> kValues = {
      1, 2, 3, 7, 10, 127, 128, 65537, 0x7fffffff, 0x80000001, 0xfffffffe, 0xffffffff};
  for (const std::uint32_t a : kValues) {
    for (const std::uint32_t b : kValues) {
      SCOPED_TRACE(testing::Message() << a << " / " << b);
      const Operands of{a, b, static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)};
      EXPECT_EQ(right_results(of), 4);
      EXPECT_EQ(right_results(of, 1), 0);
    }
  }
}

TEST_F(Division, OfManyIntegersIsExact) {
  std::uint32_t state = 1;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
  for (int i = 0; i < 500; ++i) {
    const std::uint32_t a = next(), b = std::max(next() >> (i % 32), 1u);
    SCOPED_TRACE(testing::Message() << a << " / " << b);
    EXPECT_EQ(right_results({a, b, static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)}), 4);
  }
}

}  // namespace
}  // namespace sparkbench
