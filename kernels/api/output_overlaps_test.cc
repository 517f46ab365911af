#include "kernels/api/output_overlaps.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

constexpr std::int64_t kBatch = 2, kRows = 3, kHeads = 4, kHeadsK = 2, kRowBytes = 128;

class OutputOverlapsTest : public testing::Test {
 protected:
  /// Slices of rows of [kHeads + 2 kHeadsK] heads, as a packed Q, K and V has them.
  RowsInMemory slice(const char* name, std::int64_t first, std::int64_t heads) {
    constexpr std::int64_t kPitch = (kHeads + 2 * kHeadsK) * kRowBytes;
    return {name,
            memory_ + first * kRowBytes,
            {kBatch, kRows, heads},
            {kRows * kPitch, kPitch, kRowBytes},
            kRowBytes};
  }
  static std::string why_refused(const std::vector<RowsInMemory>& tensors, std::size_t outputs) {
    return message_of<std::invalid_argument>([&] { check_outputs(tensors, outputs); });
  }

  std::byte memory_[1 << 15];
};

TEST_F(OutputOverlapsTest, ServesSlicesOfOneTensor) {
  EXPECT_EQ(why_refused({slice("dq", 0, kHeads), slice("dk", kHeads, kHeadsK),
                         slice("dv", kHeads + kHeadsK, kHeadsK)},
                        3),
            "");
}

TEST_F(OutputOverlapsTest, RefusesAHeadThatTwoOutputsShare) {
  EXPECT_EQ(why_refused({slice("dq", 0, kHeads), slice("dk", kHeads - 1, kHeadsK)}, 2),
            "output dq overlaps tensor dk; allowed: memory of its own");
}

TEST_F(OutputOverlapsTest, RefusesAnInputInItsPlace) {
  EXPECT_EQ(why_refused({slice("o", 0, kHeads), slice("q", 0, kHeads)}, 1),
            "output o overlaps tensor q; allowed: memory of its own");
  EXPECT_EQ(why_refused({slice("o", 1, kHeads), slice("q", 0, kHeads)}, 1),
            "output o overlaps tensor q; allowed: memory of its own");
}

TEST_F(OutputOverlapsTest, LetsInputsShareMemory) {
  EXPECT_EQ(
      why_refused({slice("o", kHeads, kHeads), slice("k", 0, kHeads), slice("v", 0, kHeads)}, 1),
      "");
}

TEST_F(OutputOverlapsTest, RefusesRowsThatOverlapEachOther) {
  for (const std::int64_t pitch : {std::int64_t{0}, std::int64_t{16}}) {
    RowsInMemory o = slice("o", 0, kHeads);
    o.pitch[2] = pitch;
    EXPECT_EQ(why_refused({o}, 1),
              "rows of output o overlap, by its strides; allowed: each in memory of its own");
  }
}

TEST_F(OutputOverlapsTest, AsksNoPitchOfExtentsOfOneAndNothingOfEmptyTensors) {
  RowsInMemory o = slice("o", 0, 1);
  o.pitch[2] = 3;
  EXPECT_EQ(why_refused({o}, 1), "");
  RowsInMemory empty = slice("dk", 0, 0);
  EXPECT_EQ(why_refused({o, empty}, 2), "");
}

TEST_F(OutputOverlapsTest, KnowsAnInputThatIsExpanded) {
  RowsInMemory k = slice("k", 0, kHeads);
  k.pitch[2] = 0;
  EXPECT_EQ(why_refused({slice("o", 1, kHeads - 1), k}, 1), "");
  EXPECT_NE(why_refused({slice("o", 0, kHeads - 1), k}, 1), "");
}

}  // namespace
}  // namespace sparkbench
