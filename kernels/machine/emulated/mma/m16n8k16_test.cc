#include "kernels/machine/emulated/mma/m16n8k16.h"

#include <random>
#include <stdexcept>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

constexpr int kRows = 32, kColumns = 24, kDepth = 48;  // 2 x 3 fragments of C, 3 steps

/// C = A B with small integers, which every profile adds exactly, from tiles of three warps.
struct Product {
  int a[kRows][kDepth], b[kDepth][kColumns];

  Product() {
    std::mt19937 generator(5);
    for (auto& row : a) {
      for (int& element : row) element = static_cast<int>(generator() % 9) - 4;
    }
    for (auto& row : b) {
      for (int& element : row) element = static_cast<int>(generator() % 9) - 4;
    }
  }
  float plain(int row, int column) const {
    int sum = 0;
    for (int k = 0; k < kDepth; ++k) sum += a[row][k] * b[k][column];
    return static_cast<float>(sum);
  }
};

std::uint32_t pair_of(int low, int high) {
  return to_half(static_cast<float>(low)).bits |
         static_cast<std::uint32_t>(to_half(static_cast<float>(high)).bits) << 16;
}

float element_of(const m16n8k16::FragmentC<Accumulator::kFp32>& c, int i) { return c.element[i]; }
float element_of(const m16n8k16::FragmentC<Accumulator::kFp16>& c, int i) {
  return to_float(Half{static_cast<std::uint16_t>(c.pair[i / 2] >> (16 * (i % 2)))});
}

template <Accumulator kAccumulator>
void multiply(EmulatedMachine& machine, const Product& product) {
  const int lane = machine.lane();
  m16n8k16::FragmentA a[3][2];
  m16n8k16::FragmentB b[3][3];
  for (int step = 0; step < 3; ++step) {
    const int k = 16 * step;
    for (int i = 0; i < 16; i += 2) {
      const int* row = product.a[16 * (i / 8) + m16n8k16::a_row(lane, i % 8)] + k;
      const int column = m16n8k16::a_column(lane, i % 8);
      a[step][i / 8].pair[i % 8 / 2] = pair_of(row[column], row[column + 1]);
    }
    for (int i = 0; i < 12; i += 2) {
      const int column = 8 * (i / 4) + m16n8k16::b_column(lane);
      const int row = k + m16n8k16::b_row(lane, i % 4);
      b[step][i / 4].pair[i % 4 / 2] = pair_of(product.b[row][column], product.b[row + 1][column]);
    }
  }
  m16n8k16::FragmentC<kAccumulator> c[2][3] = {};
  machine.mma_m16n8k16_outer<Operand::kB>({c[0], c[1]}, a, b);
  for (int i = 0; i < 4; ++i) {
    for (int x = 0; x < 2; ++x) {
      for (int y = 0; y < 3; ++y) {
        const int row = 16 * x + m16n8k16::c_row(lane, i);
        const int column = 8 * y + m16n8k16::c_column(lane, i);
        EXPECT_EQ(element_of(c[x][y], i), product.plain(row, column)) << row << ' ' << column;
      }
    }
  }
}

TEST(M16n8k16Fragments, HoldEachElementOnce) {
  int a[16][16] = {}, b[16][8] = {}, c[16][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) ++a[m16n8k16::a_row(lane, i)][m16n8k16::a_column(lane, i)];
    for (int i = 0; i < 4; ++i) ++b[m16n8k16::b_row(lane, i)][m16n8k16::b_column(lane)];
    for (int i = 0; i < 4; ++i) ++c[m16n8k16::c_row(lane, i)][m16n8k16::c_column(lane, i)];
  }
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) EXPECT_EQ(a[row][column], 1);
    for (int column = 0; column < 8; ++column) EXPECT_EQ(b[row][column], 1);
    for (int column = 0; column < 8; ++column) EXPECT_EQ(c[row][column], 1);
  }
}

TEST(MachineM16n8k16, MultipliesAsPlainArithmeticDoes) {
  const Product product;
  for (const char* profile : {"ampere", "hopper"}) {
    const auto report = run({.warps = 2, .profile = profile}, [&](EmulatedMachine& machine) {
      multiply<Accumulator::kFp32>(machine, product);
      multiply<Accumulator::kFp16>(machine, product);
    });
    EXPECT_EQ(report.findings_total, 0u);
    EXPECT_EQ(report.counters.mma_m16n8k16, 2u * 2u * 18u);
    EXPECT_EQ(report.counters.mma_fp16acc, 2u * 18u);
    EXPECT_EQ(report.counters.mma(), report.counters.mma_m16n8k16);
  }
}

TEST(MachineM16n8k16, IsRefusedOnAChipWithoutIt) {
  EXPECT_THROW(
      run({.profile = "volta"},
          [](EmulatedMachine& machine) { multiply<Accumulator::kFp32>(machine, Product{}); }),
      std::invalid_argument);
}

TEST(MachineM16n8k16, FindsLanesThatDoNotCome) {
  int line = 0;
  const auto report = run({.profile = "ampere"}, [&](EmulatedMachine& machine) {
    if (machine.lane() == 7) return;
    m16n8k16::FragmentC<Accumulator::kFp32> c{};
    const m16n8k16::FragmentA a[1][1] = {};
    const m16n8k16::FragmentB b[1][1] = {};
    line = __LINE__ + 1;
    machine.mma_m16n8k16_outer<Operand::kA>({&c}, a, b);
  });
  expect_finding(report, FindingKind::kDivergence, 0, line, __FILE__);
}

}  // namespace
}  // namespace sparkbench
