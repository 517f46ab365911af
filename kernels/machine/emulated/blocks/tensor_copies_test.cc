// Boxes of a tensor and their barriers: one warp starts boxes in a ring of two stages, two warps
// read them.
#include "kernels/machine/emulated/blocks/tensor_copies.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

constexpr int kPlaces = 2, kReaders = 2;
constexpr int kRows = 150, kColumns = 72, kHeads = 3, kBatch = 2;  // no multiples of a box

struct alignas(1024) Shared {
  Half box[kPlaces][kBoxRows][kBoxColumns];
  std::uint32_t bytes[kPlaces][32];
  Mbarrier full[kPlaces], empty[kPlaces];
};

/// The synchronization that is omitted, to see whether the emulator finds it.
enum class CopyDefect {
  kNone,
  kNoBarrierBehindInit,
  kReadersDoNotWait,
  kReadersDoNotArrive,
  kProducerDoesNotWait,
  kProducerExpectsMore,
};

/// Where a number of a box is, by the swizzle.
const Half* place_of(const Shared& shared, int place, int row, int column) {
  const int chunk = (column / 8) ^ (row % 8);
  return &shared.box[place][row][8 * chunk + column % 8];
}

class TensorCopiesTest : public testing::Test {
 protected:
  TensorCopiesTest() : tensor_(std::size_t{kBatch} * kRows * kHeads * kColumns) {
    for (std::size_t i = 0; i < tensor_.size(); ++i) {
      tensor_[i].bits = static_cast<std::uint16_t>(i % 65521);
    }
    map_ = encode_emulated_map({tensor_.data(), kColumns, kRows, kHeads, kBatch,
                                std::uint64_t{kHeads} * kColumns * 2, std::uint64_t{kColumns} * 2,
                                std::uint64_t{kRows} * kHeads * kColumns * 2});
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = static_cast<std::uint32_t>(7 * i);
  }

  std::uint16_t expected(const BoxPlace& place, int row, int column) const {
    const int of_row = place.row + row, of_column = place.column + column;
    if (of_row < 0 || of_row >= kRows || of_column >= kColumns) return 0;
    const int at = ((place.batch * kRows + of_row) * kHeads + place.head) * kColumns + of_column;
    return tensor_[static_cast<std::size_t>(at)].bits;
  }

  static BoxPlace place_of_step(int step) {
    return {step % 2 * kBoxColumns, 64 * step - 32, step % kHeads, step % kBatch};
  }

  void produce(EmulatedMachine& machine, Shared& shared, CopyDefect defect) {
    constexpr int kBytes = sizeof shared.bytes[0];
    for (int step = 0; step < kSteps; ++step) {
      const int at = step % kPlaces, use = step / kPlaces;
      if (defect != CopyDefect::kProducerDoesNotWait) {
        machine.wait_at_mbarrier(&shared.empty[at], use % 2 ^ 1);
      }
      const int more = defect == CopyDefect::kProducerExpectsMore && step == 1 ? 16 : 0;
      machine.expect_bytes(&shared.full[at], kBoxBytes + kBytes + more);
      copy_line_ = __LINE__ + 1;
      machine.copy_box_async(&shared.box[at], map_, place_of_step(step), &shared.full[at]);
      machine.copy_bytes_async(&shared.bytes[at], &words_[32 * static_cast<std::size_t>(step)],
                               kBytes, &shared.full[at]);
      machine.arrive_at_mbarrier(&shared.full[at]);
    }
  }

  void consume(EmulatedMachine& machine, const Shared& shared, Shared& barriers,
               CopyDefect defect) {
    for (int step = 0; step < kSteps; ++step) {
      const int at = step % kPlaces, use = step / kPlaces;
      wait_line_ = __LINE__ + 2;
      if (defect != CopyDefect::kReadersDoNotWait) {
        machine.wait_at_mbarrier(&barriers.full[at], use % 2);
      }
      const int row = machine.lane() + 32 * (machine.warp() - 1);
      for (int column = 0; column < kBoxColumns; column += 2) {
        read_line_ = __LINE__ + 1;
        const auto pair = machine.load_shared<std::uint32_t>(place_of(shared, at, row, column));
        const BoxPlace place = place_of_step(step);
        const std::uint32_t two = expected(place, row, column) | expected(place, row, column + 1)
                                                                     << 16;
        if (pair != two) ++wrong_;
      }
      const auto word = machine.load_shared<std::uint32_t>(&shared.bytes[at][machine.lane()]);
      if (word != 7u * static_cast<std::uint32_t>(32 * step + machine.lane())) ++wrong_;
      if (defect != CopyDefect::kReadersDoNotArrive)
        machine.arrive_at_mbarrier(&barriers.empty[at]);
    }
  }

  EmulationReport run_ring(std::uint64_t seed, CopyDefect defect) {
    wrong_ = 0;
    const std::vector<GlobalRegion> regions = {
        {"tensor", tensor_.data(), tensor_.size() * sizeof(Half), true},
        {"words", words_.data(), sizeof words_, true}};
    return run({.warps = 1 + kReaders,
                .shared_bytes = sizeof(Shared),
                .regions = regions,
                .schedule_seed = seed},
               [&](EmulatedMachine& machine) {
                 auto& shared = machine.shared<Shared>();
                 if (machine.warp() == 0) {
                   for (int at = 0; at < kPlaces; ++at) {
                     machine.init_mbarrier(&shared.full[at], 1);
                     machine.init_mbarrier(&shared.empty[at], kReaders);
                   }
                 }
                 if (defect != CopyDefect::kNoBarrierBehindInit) machine.barrier_of_warps();
                 if (machine.warp() == 0) {
                   produce(machine, shared, defect);
                 } else {
                   consume(machine, shared, shared, defect);
                 }
               });
  }

  /// The defect is found under every schedule, and under most as `kind`.
  void expect_found(CopyDefect defect, FindingKind kind) {
    constexpr int kSeeds = 16;
    int found = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const EmulationReport report = run_ring(seed, defect);
      EXPECT_NE(report.findings_total, 0u) << seed;
      found += std::any_of(report.findings.begin(), report.findings.end(),
                           [&](const Finding& finding) { return finding.kind == kind; });
    }
    EXPECT_GT(found, kSeeds / 2);
  }

  static constexpr int kSteps = 5;
  std::vector<Half> tensor_;
  alignas(16) std::array<std::uint32_t, 32 * kSteps> words_;
  TensorMap map_;
  int wrong_ = 0, copy_line_ = 0, wait_line_ = 0, read_line_ = 0;
};

TEST_F(TensorCopiesTest, BringBoxesUnderEverySchedule) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const EmulationReport report = run_ring(seed, CopyDefect::kNone);
    EXPECT_EQ(wrong_, 0) << seed;
    EXPECT_EQ(report.findings_total, 0u) << seed << ": " << report.findings[0].message;
    EXPECT_EQ(report.counters.global_loads, 2u * kSteps);
    EXPECT_EQ(report.counters.barriers, 2u * kSteps + 1);
  }
}

TEST_F(TensorCopiesTest, AreFoundWhereTheyAreReadEarly) {
  expect_found(CopyDefect::kReadersDoNotWait, FindingKind::kSharedRace);
}

TEST_F(TensorCopiesTest, AreFoundWhereTheyCanNotEnd) {
  const EmulationReport report = run_ring(0, CopyDefect::kProducerExpectsMore);
  expect_finding(report, FindingKind::kMissedBarrier, 32, wait_line_, __FILE__);
  EXPECT_NE(report.findings[0].message.find("16 bytes have not come"), std::string::npos)
      << report.findings[0].message;
}

TEST_F(TensorCopiesTest, WaitForPlacesThatNobodyLeaves) {
  expect_found(CopyDefect::kReadersDoNotArrive, FindingKind::kMissedBarrier);
}

TEST_F(TensorCopiesTest, AreFoundWhereAPlaceIsStillRead) {
  expect_found(CopyDefect::kProducerDoesNotWait, FindingKind::kSharedRace);
}

TEST_F(TensorCopiesTest, WantBarriersThatAllKnowOf) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const EmulationReport report = run_ring(seed, CopyDefect::kNoBarrierBehindInit);
    ASSERT_NE(report.findings_total, 0u) << seed;
  }
}

TEST_F(TensorCopiesTest, GoToWholeSwizzles) {
  const std::vector<GlobalRegion> regions = {
      {"tensor", tensor_.data(), tensor_.size() * sizeof(Half), true}};
  int line = 0;
  const auto report =
      run({.shared_bytes = sizeof(Shared), .regions = regions}, [&](EmulatedMachine& machine) {
        auto& shared = machine.shared<Shared>();
        machine.init_mbarrier(&shared.full[0], 1);
        machine.expect_bytes(&shared.full[0], kBoxBytes);
        line = __LINE__ + 1;
        machine.copy_box_async(&shared.box[0][1], map_, {0, 0, 0, 0}, &shared.full[0]);
        machine.arrive_at_mbarrier(&shared.full[0]);
        machine.wait_at_mbarrier(&shared.full[0], 0);
      });
  expect_finding(report, FindingKind::kMisaligned, 0, line, __FILE__);
}

TEST(Mbarriers, AreFoundWhereNothingMadeThem) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    auto& shared = machine.shared<Mbarrier>();
    line = __LINE__ + 1;
    machine.arrive_at_mbarrier(&shared);
  });
  ASSERT_EQ(report.findings.size(), 2u);  // that nothing has written it, and that it is no barrier
  for (const Finding& finding : report.findings) EXPECT_EQ(finding.line, line);
}

TEST(Mbarriers, TakeNoMoreWarpsThanTheyWereMadeFor) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    auto& shared = machine.shared<Mbarrier>();
    machine.init_mbarrier(&shared, 1);
    machine.expect_bytes(&shared, 16);
    machine.arrive_at_mbarrier(&shared);
    line = __LINE__ + 1;
    machine.arrive_at_mbarrier(&shared);
  });
  expect_finding(report, FindingKind::kDivergence, 0, line, __FILE__);
}

}  // namespace
}  // namespace sparkbench
