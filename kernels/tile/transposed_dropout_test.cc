#include "kernels/tile/transposed_dropout.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/machine/emulated/launch.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench {
namespace {

TEST(PermutedKey, GivesEveryKeyOfABlockToOneRowOfOneWarp) {
  std::set<int> keys;
  for (int warp = 0; warp < 4; ++warp) {
    for (int row = 0; row < 32; ++row) keys.insert(permuted_key(warp, row));
  }
  EXPECT_EQ(keys.size(), 128u);
  EXPECT_EQ(*keys.begin(), 0);
  EXPECT_EQ(*keys.rbegin(), 127);
}

/// Every bit must be the mask's own for the key that the lane owns.
template <Accumulator kAccumulator>
void expect_the_masks_bits() {
  using Layout = RowLayout<kAccumulator>;
  constexpr int kFirstQuery = 96, kFirstKey = 256;
  constexpr std::uint32_t kBatchHead = 5;
  const Dropout dropout = make_dropout(0.3f, 77);
  std::uint32_t keep[128][2] = {};
  const LaunchShape shape{.kernel = "keep", .grid = {1, 1, 1}, .threads = 128};
  emulate(shape, {}, {.profile = &arithmetic_profile("volta")}, [&](EmulatedMachine& machine) {
    std::uint32_t words[Layout::kRowsPerLane] = {};
    keep_words<kAccumulator>(machine, dropout, kBatchHead, kFirstQuery, kFirstKey, machine.warp(),
                             words);
    for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
      keep[machine.thread()][slot] = words[slot];
    }
  });
  for (int thread = 0; thread < 128; ++thread) {
    for (int slot = 0; slot < Layout::kRowsPerLane; ++slot) {
      const int key = kFirstKey + permuted_key(thread / 32, Layout::row(thread % 32, slot));
      for (int q = 0; q < 32; ++q) {
        ASSERT_EQ((keep[thread][slot] >> q) & 1u,
                  dropout_keeps(dropout, kBatchHead, static_cast<std::uint32_t>(kFirstQuery + q),
                                static_cast<std::uint32_t>(key)))
            << "thread " << thread << ", slot " << slot << ", query " << q;
      }
    }
  }
}

TEST(KeepWords, AreTheDropoutMaskForFp16Fragments) { expect_the_masks_bits<Accumulator::kFp16>(); }

TEST(KeepWords, AreTheDropoutMaskForFp32Fragments) { expect_the_masks_bits<Accumulator::kFp32>(); }

}  // namespace
}  // namespace sparkbench
