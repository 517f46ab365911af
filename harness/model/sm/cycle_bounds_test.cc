#include "harness/model/sm/cycle_bounds.h"

#include <gtest/gtest.h>

#include <map>

#include "harness/model/sm/test_code.h"

namespace sparkbench {
namespace {

using Bounds = std::map<std::string_view, double>;

Bounds bounds_of(const SassFunction& function, const BlockPaths& block, int blocks) {
  Bounds bounds;
  const TimedCode code = time_code(function, {});
  for (const CycleBound& one : cycle_bounds(code, std::vector(blocks, &block))) {
    bounds[name_of(one.unit)] = one.cycles;
  }
  return bounds;
}

TEST(CycleBounds, CountEachUnitsWork) {
  const SassFunction function = code_of({{"S01", "HMMA.884.F32.F32.STEP0 R8, R4.ROW, R6.COL, R8"},
                                         {"S01", "HFMA2 R0, R1, R2, R3"},
                                         {"S01", "LDS.U.128 R0, [R4]"},
                                         {"S01", "LDG.E.32.SYS R0, [R4]"},
                                         {"S01", "MUFU.EX2 R0, R1"},
                                         {"S01", "@!PT FADD R0, R1, R1"}});
  const Bounds one = {{"tensor", 2}, {"tensor port", 4}, {"issue", 6},    {"lsu", 5},
                      {"l2", 6.4},   {"xu", 8},          {"mio lanes", 8}};
  EXPECT_EQ(bounds_of(function, {straight_path(function)}, 1), one);
  // Five warps: two on the first scheduler.
  const Bounds five = {{"tensor", 4}, {"tensor port", 8}, {"issue", 12},    {"lsu", 25},
                       {"l2", 32},    {"xu", 16},         {"mio lanes", 16}};
  EXPECT_EQ(bounds_of(function, BlockPaths(5, straight_path(function)), 1), five);
}

TEST(CycleBounds, ComeLargestFirst) {
  const SassFunction function = code_of({{"S01", "MUFU.EX2 R0, R1"}, {"S01", "FADD R0, R1, R1"}});
  const BlockPaths block = {straight_path(function)};
  const auto bounds = cycle_bounds(time_code(function, {}), {&block});
  ASSERT_EQ(bounds.size(), 3u);
  EXPECT_EQ(bounds[0].unit, BoundedUnit::kXu);
  EXPECT_EQ(bounds[1].unit, BoundedUnit::kIssue);
  EXPECT_EQ(bounds[2].unit, BoundedUnit::kFp32);
}

}  // namespace
}  // namespace sparkbench
