#include "kernels/machine/emulated/mma/wgmma.h"

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

constexpr int kWgmmaDepth = 64;  // k of a line of 128 bytes

/// Tiles as in an attention kernel: lines of 64 halves, swizzled.
template <int kN>
struct Tiles {
  alignas(1024) Half a[64 * kWgmmaDepth];
  alignas(
      1024) Half b[(kN + 63) / 64 * 64 * kWgmmaDepth];  // column-major, or row-major by 64 columns
};

/// C = A B of small integers, which every order adds exactly.
template <int kN>
struct Integers {
  int a[64][kWgmmaDepth], b[kWgmmaDepth][kN];

  Integers() {
    std::mt19937 generator(5);
    const auto draw = [&] { return static_cast<int>(generator() % 9) - 4; };
    for (auto& row : a) {
      for (int& element : row) element = draw();
    }
    for (auto& row : b) {
      for (int& element : row) element = draw();
    }
  }
  float plain(int row, int column) const {
    int sum = 0;
    for (int k = 0; k < kWgmmaDepth; ++k) sum += a[row][k] * b[k][column];
    return static_cast<float>(sum);
  }
};

std::uint32_t wgmma_pair_of(int low, int high) {
  return to_half(static_cast<float>(low)).bits |
         static_cast<std::uint32_t>(to_half(static_cast<float>(high)).bits) << 16;
}

/// Stores the pair that begins `line` and `column` (in halves) into a tile of lines of 128 bytes.
void store_swizzled(EmulatedMachine& machine, Half* tile, int line, int column,
                    std::uint32_t pair) {
  const int piece = column / 8 ^ line % 8;
  machine.store_shared(&tile[64 * line + 8 * piece + column % 8], pair);
}

template <int kN, Major kMajorB, Major kMajorA>
void fill(EmulatedMachine& machine, const Integers<kN>& integers, Tiles<kN>& tiles) {
  for (int i = 2 * machine.thread(); i < 64 * kWgmmaDepth; i += 256) {
    const int line = i / 64, at = i % 64;
    store_swizzled(machine, tiles.a, line, at,
                   kMajorA == Major::kRow
                       ? wgmma_pair_of(integers.a[line][at], integers.a[line][at + 1])
                       : wgmma_pair_of(integers.a[at][line], integers.a[at + 1][line]));
  }
  for (int i = 2 * machine.thread(); i < kN * kWgmmaDepth; i += 256) {
    if (kMajorB == Major::kColumn) {
      const int column = i / kWgmmaDepth, k = i % kWgmmaDepth;
      store_swizzled(machine, tiles.b, column, k,
                     wgmma_pair_of(integers.b[k][column], integers.b[k + 1][column]));
    } else {
      const int k = i / kN, column = i % kN;
      store_swizzled(machine, tiles.b, column / 64 * kWgmmaDepth + k, column % 64,
                     wgmma_pair_of(integers.b[k][column], integers.b[k][column + 1]));
    }
  }
  machine.fence_async_proxy();
  machine.barrier();
}

m16n8k16::FragmentA a_fragment(int warp, int lane, int first_k, const auto& a) {
  m16n8k16::FragmentA fragment;
  for (int i = 0; i < 8; i += 2) {
    const int* const row = a[16 * warp + m16n8k16::a_row(lane, i)];
    const int k = first_k + m16n8k16::a_column(lane, i);
    fragment.pair[i / 2] = wgmma_pair_of(row[k], row[k + 1]);
  }
  return fragment;
}

template <int kN, Major kMajorB, bool kAInRegisters, Major kMajorA = Major::kRow>
void multiply(EmulatedMachine& machine, const Integers<kN>& integers) {
  auto& tiles = machine.shared<Tiles<kN>>();
  fill<kN, kMajorB, kMajorA>(machine, integers, tiles);
  m16n8k16::FragmentC<Accumulator::kFp32> c[kN / 8];
  const std::uint64_t a = machine.describe_matrix(tiles.a, 0, 1024);
  const std::uint64_t b = machine.describe_matrix(tiles.b, 128 * kWgmmaDepth, 1024);
  constexpr int kBytesOn = kMajorB == Major::kColumn ? 32 : 2048;
  machine.fence_products();
  for (int step = 0; step < kWgmmaDepth / 16; ++step) {
    const std::uint64_t b_step = b + static_cast<std::uint64_t>(step * kBytesOn >> 4);
    if constexpr (kAInRegisters) {
      const auto fragment = a_fragment(machine.warp(), machine.lane(), 16 * step, integers.a);
      machine.multiply_async<Half, kN, kMajorB>(c, fragment, b_step, step != 0);
    } else {
      constexpr int kBytesOnA = kMajorA == Major::kRow ? 32 : 2048;
      machine.multiply_async<Half, kN, kMajorB, kMajorA>(
          c, a + static_cast<std::uint64_t>(step * kBytesOnA >> 4), b_step, step != 0);
    }
  }
  machine.commit_products();
  machine.wait_for_products<0>();
  for (int i = 0; i < kN / 2; ++i) {
    const int row = 16 * machine.warp() + m16n8k16::c_row(machine.lane(), i % 4);
    const int column = i / 4 * 8 + m16n8k16::c_column(machine.lane(), i % 4);
    EXPECT_EQ(c[i / 4].element[i % 4], integers.plain(row, column)) << row << ' ' << column;
  }
}

template <int kN>
void expect_plain_products() {
  const Integers<kN> integers;
  for (const std::uint64_t seed : {0, 1, 2}) {
    const auto report = run(
        {.warps = 4, .shared_bytes = sizeof(Tiles<kN>), .schedule_seed = seed, .profile = "hopper"},
        [&](EmulatedMachine& machine) {
          multiply<kN, Major::kColumn, false>(machine, integers);
          machine.barrier();
          multiply<kN, Major::kRow, false>(machine, integers);
          machine.barrier();
          multiply<kN, Major::kColumn, true>(machine, integers);
          machine.barrier();
          multiply<kN, Major::kRow, true>(machine, integers);
          machine.barrier();
          multiply<kN, Major::kRow, false, Major::kColumn>(machine, integers);
          machine.barrier();
          multiply<kN, Major::kColumn, false, Major::kColumn>(machine, integers);
        });
    EXPECT_EQ(report.findings_total, 0u);
    EXPECT_EQ(report.counters.wgmma, 6u * 4u * 4u);
  }
}

TEST(MachineWgmma, MultipliesAsPlainArithmeticDoes) {
  expect_plain_products<8>();
  expect_plain_products<64>();
  expect_plain_products<128>();
  expect_plain_products<256>();
}

/// A mistake in a kernel that multiplies two tiles of ones once.
enum class Defect { kNone, kNoFence, kNoBarrier, kRefilledEarly, kReadEarly, kLanesDiffer };

EmulationReport multiply_ones(Defect defect, std::uint64_t seed, float& element, int& line) {
  const auto kernel = [&](EmulatedMachine& machine) {
    auto& tiles = machine.shared<Tiles<64>>();
    const auto fill_with = [&](std::uint32_t pair) {
      for (int i = 2 * machine.thread(); i < 64 * kWgmmaDepth; i += 256) {
        machine.store_shared(&tiles.a[i], pair);
        machine.store_shared(&tiles.b[i], pair);
      }
    };
    fill_with(wgmma_pair_of(1, 1));
    if (defect != Defect::kNoFence) machine.fence_async_proxy();
    if (defect != Defect::kNoBarrier) machine.barrier();
    m16n8k16::FragmentC<Accumulator::kFp32> c[8];
    const std::uint64_t a = machine.describe_matrix(tiles.a, 0, 1024);
    const bool differs = defect == Defect::kLanesDiffer && machine.lane() == 7;
    const std::uint64_t b = machine.describe_matrix(tiles.b, 0, 1024) + (differs ? 2 : 0);
    machine.fence_products();
    line = __LINE__ + 1;
    machine.multiply_async<Half, 64, Major::kColumn>(c, a, b, false);
    machine.commit_products();
    if (defect == Defect::kReadEarly) {
      element = c[0].element[0];
      return;
    }
    if (defect == Defect::kRefilledEarly) {
      machine.barrier();
      fill_with(wgmma_pair_of(2, 2));
    }
    machine.wait_for_products<0>();
    element = c[7].element[3];
  };
  return run(
      {.warps = 4, .shared_bytes = sizeof(Tiles<64>), .schedule_seed = seed, .profile = "hopper"},
      kernel);
}

/// The kind of its first finding.
std::string found_in_ones(Defect defect, std::uint64_t seed, int& line) {
  float element = 0.0f;
  int expected_line = 0;
  const auto report = multiply_ones(defect, seed, element, expected_line);
  if (report.findings.empty()) return "none";
  for (const Finding& finding : report.findings) {
    if (finding.line == expected_line) line = 0;
  }
  return std::string(to_string(report.findings[0].kind));
}

TEST(MachineWgmma, FindsAMissingProxyFence) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    int line = 1;
    EXPECT_EQ(found_in_ones(Defect::kNone, seed, line), "none");
    EXPECT_EQ(found_in_ones(Defect::kNoFence, seed, line), "missing_proxy_fence");
    EXPECT_EQ(line, 0) << "the product's own line is named";
  }
}

TEST(MachineWgmma, FindsOperandsThatNoBarrierOrders) {
  int line = 1;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    const std::string found = found_in_ones(Defect::kNoBarrier, seed, line);
    EXPECT_TRUE(found == "shared_race" || found == "uninitialized_read") << found;
  }
}

TEST(MachineWgmma, FindsATileRefilledBeforeItsWait) {
  int line = 1;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    EXPECT_EQ(found_in_ones(Defect::kRefilledEarly, seed, line), "shared_race");
  }
}

TEST(MachineWgmma, FindsLanesWithDifferentDescriptors) {
  int line = 1;
  EXPECT_EQ(found_in_ones(Defect::kLanesDiffer, 0, line), "divergence");
}

TEST(MachineWgmma, IsLateUnderSomeSeeds) {
  bool was_late = false;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    float element = 0.0f;
    int line;
    multiply_ones(Defect::kReadEarly, seed, element, line);
    EXPECT_TRUE(element == 16.0f || std::isnan(element));
    was_late = was_late || std::isnan(element);
    EXPECT_TRUE(seed != 0 || element == 16.0f);
  }
  EXPECT_TRUE(was_late);
}

/// Products of numbers of every magnitude, against those of m16n8k16.
TEST(MachineWgmma, HasTheBitsOfM16n8k16) {
  std::mt19937 generator(11);
  const auto half = [&] { return (generator() & 0x83ffu) | ((generator() % 31) << 10); };
  std::vector<std::uint16_t> a(64 * 16), b(64 * 16);
  for (auto* matrix : {&a, &b}) {
    for (auto& bits : *matrix) bits = static_cast<std::uint16_t>(half());
  }
  const auto pair = [](const std::vector<std::uint16_t>& matrix, int row, int k) {
    const auto at = static_cast<std::size_t>(16 * row + k);
    return matrix[at] | static_cast<std::uint32_t>(matrix[at + 1]) << 16;
  };
  const auto kernel = [&](EmulatedMachine& machine) {
    auto& tiles = machine.shared<Tiles<64>>();
    for (int i = 2 * machine.thread(); i < 64 * 16; i += 256) {
      store_swizzled(machine, tiles.b, i / 16, i % 16, pair(b, i / 16, i % 16));
    }
    machine.fence_async_proxy();
    machine.barrier();
    m16n8k16::FragmentA of_a[1][1];
    m16n8k16::FragmentB of_b[1][8];
    for (int i = 0; i < 8; i += 2) {
      of_a[0][0].pair[i / 2] = pair(a, 16 * machine.warp() + m16n8k16::a_row(machine.lane(), i),
                                    m16n8k16::a_column(machine.lane(), i));
      for (int j = 0; j < 8 && i < 4; ++j) {
        of_b[0][j].pair[i / 2] =
            pair(b, 8 * j + m16n8k16::b_column(machine.lane()), m16n8k16::b_row(machine.lane(), i));
      }
    }
    m16n8k16::FragmentC<Accumulator::kFp32> c[8], expected[8];
    for (int i = 0; i < 32; ++i) {
      c[i / 4].element[i % 4] = expected[i / 4].element[i % 4] = 1.0f / static_cast<float>(i + 3);
    }
    machine.mma_m16n8k16_outer<Operand::kA>({expected}, of_a, of_b);
    machine.multiply_async<Half, 64, Major::kColumn>(
        c, of_a[0][0], machine.describe_matrix(tiles.b, 0, 1024), true);
    machine.commit_products();
    machine.wait_for_products<0>();
    EXPECT_EQ(std::memcmp(c, expected, sizeof c), 0);
  };
  const auto report =
      run({.warps = 4, .shared_bytes = sizeof(Tiles<64>), .profile = "hopper"}, kernel);
  EXPECT_EQ(report.findings_total, 0u);
}

TEST(MachineWgmma, IsRefusedOnAChipWithoutIt) {
  EXPECT_THROW(run({.warps = 4, .shared_bytes = sizeof(Tiles<64>), .profile = "ampere"},
                   [](EmulatedMachine& machine) {
                     multiply<64, Major::kColumn, false>(machine, Integers<64>{});
                   }),
               std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench
