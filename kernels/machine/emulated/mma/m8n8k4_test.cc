#include "kernels/machine/emulated/mma/m8n8k4.h"

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

constexpr std::uint32_t kOneTwo = 0x40003c00u;  // halves 1, 2

std::uint32_t half(int value) { return to_half(static_cast<float>(value)).bits; }

/// How many slots of the warp hold each element of the four tiles.
template <class Row, class Column>
std::vector<int> owners(int elements, const Row& row, const Column& column) {
  std::vector<int> owners(4 * 8 * 8);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements; ++i) {
      ++owners.at(
          static_cast<std::size_t>((quad_pair(lane) * 8 + row(lane, i)) * 8 + column(lane, i)));
    }
  }
  return owners;
}

TEST(M8n8k4Fragments, HoldEachElementOfCOnce) {
  const std::vector<int> once(4 * 8 * 8, 1);
  EXPECT_EQ(owners(8, fp32_row, fp32_column), once);
  EXPECT_EQ(owners(
                8, [](int lane, int) { return owned_row(lane); }, [](int, int i) { return i; }),
            once);
}

TEST(MachineM8n8k4, MultipliesTheFragmentsOfAWarp) {
  // Row i of A is (i, 0, 0, 0) and (0, i, 0, 0); B is all ones: C[i][j] = 2i + 1.
  run({}, [](EmulatedMachine& machine) {
    const std::uint32_t row = half(owned_row(machine.lane()));
    const OperandFragment a[2][1] = {{{{row, 0}}}, {{{row << 16, 0}}}};
    const OperandFragment b[2][1] = {{{{0x3c003c00u, 0x3c003c00u}}},
                                     {{{0x3c003c00u, 0x3c003c00u}}}};
    AccumulatorFragment<Accumulator::kFp32> wide;
    for (float& element : wide.element) element = 1.0f;
    AccumulatorFragment<Accumulator::kFp16> narrow{{kOneTwo, kOneTwo, kOneTwo, kOneTwo}};
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({&wide}, a, b);
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({&narrow}, a, b);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(wide.element[i], 1.0f + 2.0f * static_cast<float>(fp32_row(machine.lane(), i)));
    }
    const float twice_row = 2.0f * static_cast<float>(owned_row(machine.lane()));
    for (const std::uint32_t pair : narrow.pair) {
      EXPECT_EQ(machine.low_half(pair), 1.0f + twice_row);
      EXPECT_EQ(machine.high_half(pair), 2.0f + twice_row);
    }
  });
}

TEST(MachineM8n8k4, MultipliesEveryFragmentWithEveryOther) {
  // Row i of a[n][x] is (10 n + x, 0, 0, 0) and b[n][y] is all y + 1: c[x][y] is the same
  // everywhere.
  const auto report = run({}, [&](EmulatedMachine& machine) {
    OperandFragment a[2][2], b[2][3];
    for (int n = 0; n < 2; ++n) {
      for (int x = 0; x < 2; ++x) a[n][x] = {{half(10 * n + x), 0}};
      for (int y = 0; y < 3; ++y) b[n][y] = {{half(y + 1) * 0x10001u, half(y + 1) * 0x10001u}};
    }
    AccumulatorFragment<Accumulator::kFp32> c[2][3] = {};
    machine.mma_m8n8k4_outer<Major::kRow, Major::kColumn, Operand::kA>({c[0], c[1]}, a, b);
    for (int x = 0; x < 2; ++x) {
      for (int y = 0; y < 3; ++y) {
        const auto sum = static_cast<float>((y + 1) * (10 + 2 * x));
        for (const float element : c[x][y].element) EXPECT_EQ(element, sum);
      }
    }
  });
  EXPECT_EQ(report.counters.mma_m8n8k4, 2u * 2u * 3u);
}

}  // namespace
}  // namespace sparkbench
