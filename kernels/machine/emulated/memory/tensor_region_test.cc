#include "kernels/machine/emulated/memory/tensor_region.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sparkbench {
namespace {

constexpr int kBatch = 2, kRows = 3, kHeads = 2;
constexpr int kRowBytes = 16;

class TensorRegionTest : public testing::Test {
 protected:
  /// Rows of [batch, row, 3 x heads], each followed by 64 bytes of padding.
  static constexpr std::int64_t kRowPitch = 3 * kHeads * kRowBytes + 64;

  TensorRegion slice(std::string name, int index, bool is_input = true) {
    return {std::move(name),         memory_ + index * kHeads * kRowBytes,      kRowBytes,
            {kBatch, kRows, kHeads}, {kRows * kRowPitch, kRowPitch, kRowBytes}, is_input};
  }
  bool exists(GlobalMemory& memory, std::int64_t offset, std::uint32_t bytes = 16) {
    return memory.find({AccessKind::kLoadGlobal, bytes, memory_ + offset, 0,
                        CallSite::current()}) != nullptr;
  }

  alignas(16) std::byte memory_[kBatch * kRows * kRowPitch];
};

TEST_F(TensorRegionTest, IsOneRegionForSlicesOfOneTensor) {
  const std::vector<TensorRegion> tensors = {slice("k", 1), slice("q", 0), slice("v", 2)};
  const std::vector<GlobalRegion> regions = regions_of(tensors);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(regions[0].name, "q,k,v");
  EXPECT_EQ(regions[0].base, memory_);
  EXPECT_EQ(regions[0].bytes, kBatch * kRows * kRowPitch - 64u);
  EXPECT_FALSE(regions[0].writable);
  GlobalMemory memory(regions, 32, true);
  EXPECT_TRUE(exists(memory, 0));
  EXPECT_TRUE(exists(memory, 2 * kRowPitch + 80));
}

TEST_F(TensorRegionTest, HasNothingBetweenItsRows) {
  const std::vector<TensorRegion> tensors = {slice("q", 0), slice("v", 2)};
  GlobalMemory memory(regions_of(tensors), 32, true);
  EXPECT_TRUE(exists(memory, kRowPitch + 16));
  EXPECT_FALSE(exists(memory, kRowPitch + 32));     // k's
  EXPECT_FALSE(exists(memory, kRowPitch + 96));     // padding
  EXPECT_FALSE(exists(memory, kRowPitch + 92, 8));  // half in it
  EXPECT_TRUE(exists(memory, kRowPitch + 88, 8));
  EXPECT_FALSE(exists(memory, 5 * kRowPitch + 96));  // past the last
}

TEST_F(TensorRegionTest, MergesOutputsToo) {
  const std::vector<TensorRegion> tensors = {slice("dq", 0, false), slice("dk", 1, false)};
  const std::vector<GlobalRegion> regions = regions_of(tensors);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_TRUE(regions[0].writable);
  EXPECT_FALSE(regions[0].written_before);
}

TEST_F(TensorRegionTest, LeavesInputsUnderOutputsAnError) {
  const std::vector<TensorRegion> tensors = {slice("q", 0), slice("dq", 1, false)};
  const std::vector<GlobalRegion> regions = regions_of(tensors);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_THROW(GlobalMemory(regions, 32, true), std::invalid_argument);
}

TEST_F(TensorRegionTest, KeepsTensorsApartThatOnlyTouch) {
  const auto half = [&](int batch) {
    return TensorRegion{"x", memory_ + batch * 64, 16, {1, 2, 2}, {0, 32, 16}, true};
  };
  const std::vector<TensorRegion> tensors = {half(0), half(1)};
  const std::vector<GlobalRegion> regions = regions_of(tensors);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].bytes, 64u);
  EXPECT_TRUE(regions[0].exists.empty());
}

TEST_F(TensorRegionTest, IsWholeWhereRowsLeaveNoGap) {
  // [batch, heads, rows] in memory, and all three slices of a packed tensor without padding.
  const TensorRegion transposed{"q", memory_, 16, {2, 3, 2}, {96, 16, 48}, true};
  EXPECT_TRUE(regions_of(std::span(&transposed, 1))[0].exists.empty());
  std::vector<TensorRegion> packed;
  for (int i = 0; i < 3; ++i)
    packed.push_back({"x", memory_ + 16 * i, 16, {1, 4, 1}, {0, 48, 0}, true});
  const std::vector<GlobalRegion> regions = regions_of(packed);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_TRUE(regions[0].exists.empty());
}

TEST_F(TensorRegionTest, AsksNothingOfPitchesOfExtentsOfOne) {
  const TensorRegion tensor{"k", memory_, 16, {1, 2, 1}, {-7, 16, 2}, true};
  const std::vector<GlobalRegion> regions = regions_of(std::span(&tensor, 1));
  EXPECT_EQ(regions[0].bytes, 32u);
  EXPECT_TRUE(regions[0].exists.empty());
}

TEST_F(TensorRegionTest, RefusesWhatIsNoTensor) {
  const auto refuses = [](const TensorRegion& tensor) {
    EXPECT_THROW(regions_of(std::span(&tensor, 1)), std::invalid_argument);
  };
  TensorRegion tensor = slice("q", 0);
  tensor.pitch_bytes[1] = -16;
  refuses(tensor);
  tensor = slice("q", 0);
  tensor.extent[2] = 0;
  refuses(tensor);
  tensor = slice("q", 0);
  tensor.row_bytes = 18;
  refuses(tensor);
}

}  // namespace
}  // namespace sparkbench
