#include "reference/tensors/tensor_layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

/// Two sequences of three rows, two query heads and one key head of 8 columns.
Problem small() {
  Problem problem;
  problem.batch = 2;
  problem.heads = 2;
  problem.heads_k = 1;
  problem.seqlen_q = problem.seqlen_k = 3;
  problem.head_dim = 8;
  return problem;
}

std::vector<Half> numbered(std::size_t count, std::uint16_t first) {
  std::vector<Half> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i].bits = static_cast<std::uint16_t>(first + i);
  return numbers;
}

std::vector<std::uint16_t> bits_of(const std::vector<Half>& tensor) {
  std::vector<std::uint16_t> bits;
  for (const Half value : tensor) bits.push_back(value.bits);
  return bits;
}

TEST(TensorLayoutTest, HasNames) {
  for (const auto layout : kTensorLayouts) {
    TensorLayout parsed{};
    parse_name(name_of(layout), parsed);
    EXPECT_EQ(parsed, layout);
  }
  TensorLayout layout{};
  EXPECT_EQ(message_of<std::invalid_argument>([&] { parse_name("sbhd", layout); }),
            "no layout is called sbhd");
}

TEST(TensorLayoutTest, IsContiguousAsBshd) {
  const TensorSlices slices(small(), TensorLayout::kBshd);
  EXPECT_EQ(slices.elements, (std::vector<std::size_t>{96, 48, 48}));
  EXPECT_EQ(slices.q.strides, (RowStrides{48, 16, 8}));
  EXPECT_EQ(slices.k.strides, (RowStrides{24, 8, 8}));
  EXPECT_EQ(slices.v.buffer, 2u);
}

TEST(TensorLayoutTest, HasHeadsFirstAsBhsd) {
  const TensorSlices slices(small(), TensorLayout::kBhsd);
  EXPECT_EQ(slices.elements, (std::vector<std::size_t>{96, 48, 48}));
  EXPECT_EQ(slices.q.strides, (RowStrides{48, 8, 24}));
  EXPECT_EQ(slices.k.strides, (RowStrides{24, 8, 24}));
  EXPECT_EQ(slices.o.strides, slices.q.strides);
}

TEST(TensorLayoutTest, HasHeadsFirstInKAloneAsKBhsd) {
  const TensorSlices slices(small(), TensorLayout::kKBhsd);
  EXPECT_EQ(slices.q.strides, (RowStrides{48, 16, 8}));
  EXPECT_EQ(slices.k.strides, (RowStrides{24, 8, 24}));
  EXPECT_EQ(slices.v.strides, (RowStrides{24, 8, 8}));
  EXPECT_EQ(slices.o.strides, slices.q.strides);
}

TEST(TensorLayoutTest, HasSlicesOfOneTensorWhenPacked) {
  const TensorSlices slices(small(), TensorLayout::kQkvPacked);
  EXPECT_EQ(slices.elements, (std::vector<std::size_t>{192}));
  EXPECT_EQ(slices.q.offset, 0);
  EXPECT_EQ(slices.k.offset, 16);
  EXPECT_EQ(slices.v.offset, 24);
  for (const TensorSlice* slice : {&slices.q, &slices.k, &slices.v}) {
    EXPECT_EQ(slice->buffer, 0u);
    EXPECT_EQ(slice->strides, (RowStrides{96, 32, 8}));
  }
  EXPECT_EQ(slices.o.strides, (RowStrides{48, 16, 8}));
}

TEST(TensorLayoutTest, PacksKeysAloneIfRowsAreFewer) {
  Problem problem = small();
  problem.seqlen_q = 1;
  const TensorSlices slices(problem, TensorLayout::kQkvPacked);
  EXPECT_EQ(slices.elements, (std::vector<std::size_t>{32, 96}));
  EXPECT_EQ(slices.q.buffer, 0u);
  EXPECT_EQ(slices.k.buffer, 1u);
  EXPECT_EQ(slices.v.offset, 8);
  EXPECT_EQ(slices.v.strides, (RowStrides{48, 16, 8}));
}

TEST(TensorLayoutTest, KeepsEveryElementOnce) {
  const std::vector<Half> q = numbered(96, 0), k = numbered(48, 96), v = numbered(48, 144);
  for (const auto layout : kTensorLayouts) {
    const TensorSlices slices(small(), layout);
    std::vector<std::vector<Half>> buffers = buffers_of(slices, q, k, v);
    const auto loaded = [&](const TensorSlice& slice) {
      return bits_of(contiguous_copy(slice.in(buffers[slice.buffer].data()), slice.shape));
    };
    EXPECT_EQ(loaded(slices.q), bits_of(q)) << name_of(layout);
    EXPECT_EQ(loaded(slices.k), bits_of(k)) << name_of(layout);
    EXPECT_EQ(loaded(slices.v), bits_of(v)) << name_of(layout);
    std::vector<std::uint16_t> all;
    for (const auto& buffer : buffers) {
      for (const Half value : buffer) all.push_back(value.bits);
    }
    std::ranges::sort(all);
    std::vector<std::uint16_t> each_once(192);
    std::iota(each_once.begin(), each_once.end(), std::uint16_t{0});
    EXPECT_EQ(all, each_once) << name_of(layout);
  }
}

}  // namespace
}  // namespace sparkbench
