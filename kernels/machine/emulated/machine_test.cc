#include "kernels/machine/emulated/machine.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

constexpr std::uint32_t kOneTwo = 0x40003c00u;  // halves 1, 2

TEST(EmulatedMachine, NumbersThreadsLanesWarpsAndBlocks) {
  std::vector<int> visits(2 * 3 * 4 * 64);
  run({.warps = 2, .grid = {2, 3, 4}}, [&](EmulatedMachine& machine) {
    EXPECT_EQ(machine.thread(), 32 * machine.warp() + machine.lane());
    const int block = machine.block(0) + 2 * (machine.block(1) + 3 * machine.block(2));
    const int visited = 64 * block + machine.thread();
    ++visits.at(static_cast<std::size_t>(visited));
  });
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

TEST(EmulatedMachine, ShufflesLaneByLaneTimeAfterTime) {
  run({.warps = 2}, [](EmulatedMachine& machine) {
    for (const int mask : {1, 2, 16, 31}) {
      EXPECT_EQ(machine.shuffle_xor(machine.thread(), mask), machine.thread() ^ mask);
    }
    EXPECT_EQ(machine.shuffle_xor(0.5f * static_cast<float>(machine.lane()), 4),
              0.5f * static_cast<float>(machine.lane() ^ 4));
    EXPECT_EQ(machine.shuffle_xor(machine.lane(), 32), machine.lane());
  });
}

TEST(EmulatedMachine, ShufflesAmongLanesThatDifferInSomeBits) {
  run({.warps = 2}, [](EmulatedMachine& machine) {
    for (const int index : {0, 2, 4, 6}) {
      EXPECT_EQ(machine.shuffle_among<6>(static_cast<float>(machine.thread()), index),
                static_cast<float>((machine.thread() & ~6) | index));
    }
    EXPECT_EQ(machine.shuffle_among<31>(machine.thread(), 9), (machine.thread() & ~31) | 9);
  });
}

TEST(EmulatedMachine, BallotsTellEachLanesVote) {
  run({.warps = 2}, [](EmulatedMachine& machine) {
    for (const std::uint32_t votes : {0x1u, 0x80000000u, 0xf0f0f0f0u, 0u, ~0u}) {
      EXPECT_EQ(machine.ballot((votes >> machine.lane() & 1) != 0), votes);
    }
    EXPECT_EQ(machine.ballot(machine.warp() == 1), machine.warp() == 1 ? ~0u : 0u);
  });
}

TEST(EmulatedMachine, FindsTheLowestBit) {
  run({}, [](EmulatedMachine& machine) {
    EXPECT_EQ(machine.lowest_bit(1), 0);
    EXPECT_EQ(machine.lowest_bit(0x80000000u), 31);
    EXPECT_EQ(machine.lowest_bit(0x5500u), 8);
  });
}

TEST(EmulatedMachine, PacksAndWidensHalves) {
  run({}, [](EmulatedMachine& machine) {
    EXPECT_EQ(machine.pack_halves(1.0f, 2.0f), kOneTwo);
    EXPECT_EQ(machine.low_half(kOneTwo), 1.0f);
    EXPECT_EQ(machine.high_half(kOneTwo), 2.0f);
  });
}

TEST(EmulatedMachine, RoundsAFusedMultiplyAddOnce) {
  run({}, [](EmulatedMachine& machine) {
    const float x = 1.0f + 0x1p-12f;  // x * x = 1 + 2^-11 + 2^-24, whose last bit a float loses
    EXPECT_EQ(machine.fma(x, x, -1.0f - 0x1p-11f), 0x1p-24f);
    EXPECT_EQ(machine.reciprocal(3.0f), 1.0f / 3.0f);
    EXPECT_EQ(machine.exp2(-1.0f), 0.5f);
    EXPECT_EQ(machine.max_from_zero(0.0f, 1.5f, 1.25f), 1.5f);
    EXPECT_EQ(machine.max_from_zero(2.0f, 1.5f, -3.0f), 2.0f);
    EXPECT_EQ(float_bits(machine.max_from_zero(0.0f, -0.0f, -INFINITY)), 0u);
    EXPECT_EQ(machine.max_from_zero(0.0f, INFINITY, 0x1p-149f), INFINITY);
    EXPECT_TRUE(std::isnan(machine.max_from_zero(INFINITY, NAN, 1.0f)));
    EXPECT_EQ(machine.log2(8.0f), 3.0f);
  });
}

TEST(EmulatedMachine, CountsInstructionsOnceAWarp) {
  std::vector<float> global(3 * 64);
  const std::vector<GlobalRegion> regions = {{"x", global.data(), 3 * 64 * 4, true, true}};
  const auto report = run({.warps = 2, .regions = regions}, [&](EmulatedMachine& machine) {
    float* const shared = &machine.shared<float>();
    const int thread = machine.thread();
    const float loaded = machine.load_global<float>(&global[thread]);
    machine.store_shared(shared + 2 * thread, machine.exp2(loaded));  // 2 wavefronts per warp
    machine.barrier();
    const float other = machine.load_shared<float>(shared + 2 * (thread ^ 32));
    machine.shuffle_xor(machine.pack_halves(other, other), 1);
    AccumulatorFragment<Accumulator::kFp16> c{};
    const OperandFragment operands[3][1] = {};
    machine.mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kA>({&c}, operands, operands);
    AccumulatorFragment<Accumulator::kFp32> wide{};
    machine.mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kA>({&wide}, operands, operands);
    machine.fma(machine.low_half(c.pair[0]), machine.high_half(c.pair[0]), other);
    machine.store_global(&global[64 + 2 * thread], Bits64{});
    machine.add_global(&global[0], 1.0f);
  });
  const Counters& counters = report.counters;
  EXPECT_EQ(counters.mma_m8n8k4, 2u * (3u + 3u));
  EXPECT_EQ(counters.mma_fp16acc, 2u * 3u);
  EXPECT_EQ(counters.mufu, 2u);
  EXPECT_EQ(counters.half_conversions, 2u * 2u);
  EXPECT_EQ(counters.half_widenings, 2u * 2u);
  EXPECT_EQ(counters.fma, 2u);
  EXPECT_EQ(counters.shuffles, 2u);
  EXPECT_EQ(counters.barriers, 1u);
  EXPECT_EQ(counters.shared_loads, 2u);
  EXPECT_EQ(counters.shared_stores, 2u);
  EXPECT_EQ(counters.shared_wavefronts, 8u);
  EXPECT_EQ(counters.bank_conflicts, 4u);
  EXPECT_EQ(counters.global_loads, 2u);
  EXPECT_EQ(counters.global_stores, 2u);
  EXPECT_EQ(counters.global_atomics, 2u);
  EXPECT_EQ(counters.global_wavefronts, 2u * (1u + 2u + 1u));
  EXPECT_EQ(counters.global_sectors_added, 2u);
}

TEST(EmulatedMachine, CountsTheSectorsOfAWarpInstruction) {
  std::vector<Bits128> memory(65);
  Bits128* const first = &memory[1];  // where the host has put it does not matter
  const std::vector<GlobalRegion> regions = {{"x", first, 1024, true, true}};
  const auto report = run({.regions = regions}, [&](EmulatedMachine& machine) {
    auto* const words = reinterpret_cast<std::uint32_t*>(first);
    machine.load_global<float>(words + machine.lane());          // 128 bytes: 4 sectors
    machine.load_global<Bits128>(first + 2 * machine.lane());    // half of each of 32
    machine.store_global(words + 2 * machine.lane(), Bits64{});  // 256 bytes: 8 sectors
  });
  EXPECT_EQ(report.counters.global_sectors_read, 4u + 32u);
  EXPECT_EQ(report.counters.global_sectors_written, 8u);
}

}  // namespace
}  // namespace sparkbench
