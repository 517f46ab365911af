#include "kernels/volta/tile/operand_exchange.h"

#include <gtest/gtest.h>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench {
namespace {

EmulationOptions volta_options() { return {.profile = &arithmetic_profile("volta")}; }

/// Every lane holds row * 8 + column of its quad-pair's tile, and must end up with its whole row.
template <Accumulator kAccumulator>
void expect_whole_rows() {
  constexpr bool kIsFp32 = kAccumulator == Accumulator::kFp32;
  OperandFragment operand[32][2];
  const LaunchShape shape{.kernel = "exchange", .grid = {1, 1, 1}, .threads = 32};
  const EmulationReport report = emulate(shape, {}, volta_options(), [&](EmulatedMachine& machine) {
    const int lane = machine.lane();
    float value[8];
    for (int i = 0; i < 8; ++i) {
      const int row = kIsFp32 ? fp32_row(lane, i) : owned_row(lane);
      const int column = kIsFp32 ? fp32_column(lane, i) : i;
      value[i] = static_cast<float>(8 * (8 * quad_pair(lane) + row) + column);
    }
    to_operand_rows<kAccumulator>(machine, value, operand[lane]);
  });
  EXPECT_EQ(report.findings_total, 0u);
  for (int lane = 0; lane < 32; ++lane) {
    const int row = 8 * quad_pair(lane) + owned_row(lane);
    for (int column = 0; column < 8; ++column) {
      const std::uint32_t pair = operand[lane][column / 4].pair[column % 4 / 2];
      const Half half{static_cast<std::uint16_t>(column % 2 == 0 ? pair : pair >> 16)};
      EXPECT_EQ(to_float(half), static_cast<float>(8 * row + column)) << "lane " << lane;
    }
  }
}

TEST(OperandExchange, GivesEachLaneItsRowFromFp32Fragments) {
  expect_whole_rows<Accumulator::kFp32>();
}

TEST(OperandExchange, GivesEachLaneItsRowFromFp16Fragments) {
  expect_whole_rows<Accumulator::kFp16>();
}

TEST(OperandExchange, ShufflesTwiceInFp32AndNeverInFp16) {
  const auto shuffles = [](auto accumulator) {
    const LaunchShape shape{.kernel = "exchange", .grid = {1, 1, 1}, .threads = 32};
    const auto report = emulate(shape, {}, volta_options(), [&](EmulatedMachine& machine) {
      const float value[8] = {};
      OperandFragment operand[2];
      to_operand_rows<decltype(accumulator)::value>(machine, value, operand);
    });
    return report.counters.shuffles;
  };
  EXPECT_EQ(shuffles(std::integral_constant<Accumulator, Accumulator::kFp32>{}), 2u);
  EXPECT_EQ(shuffles(std::integral_constant<Accumulator, Accumulator::kFp16>{}), 0u);
}

}  // namespace
}  // namespace sparkbench
