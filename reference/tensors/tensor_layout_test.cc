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
  for (const auto layout : {TensorLayout::kBshd, TensorLayout::kBhsd, TensorLayout::kQkvPacked}) {
    TensorLayout parsed{};
    parse_name(name_of(layout), parsed);
    EXPECT_EQ(parsed, layout);
  }
  TensorLayout layout{};
  EXPECT_EQ(message_of<std::invalid_argument>([&] { parse_name("sbhd", layout); }),
            "no layout is called sbhd");
}

TEST(TensorLayoutTest, IsContiguousAsBshd) {
  const TensorPlaces places(small(), TensorLayout::kBshd);
  EXPECT_EQ(places.elements, (std::vector<std::size_t>{96, 48, 48}));
  EXPECT_EQ(places.q.strides, (RowStrides{48, 16, 8}));
  EXPECT_EQ(places.k.strides, (RowStrides{24, 8, 8}));
  EXPECT_EQ(places.v.memory, 2u);
}

TEST(TensorLayoutTest, HasHeadsFirstAsBhsd) {
  const TensorPlaces places(small(), TensorLayout::kBhsd);
  EXPECT_EQ(places.elements, (std::vector<std::size_t>{96, 48, 48}));
  EXPECT_EQ(places.q.strides, (RowStrides{48, 8, 24}));
  EXPECT_EQ(places.k.strides, (RowStrides{24, 8, 24}));
  EXPECT_EQ(places.o.strides, places.q.strides);
}

TEST(TensorLayoutTest, HasSlicesOfOneTensorWhenPacked) {
  const TensorPlaces places(small(), TensorLayout::kQkvPacked);
  EXPECT_EQ(places.elements, (std::vector<std::size_t>{192}));
  EXPECT_EQ(places.q.first, 0);
  EXPECT_EQ(places.k.first, 16);
  EXPECT_EQ(places.v.first, 24);
  for (const TensorPlace* place : {&places.q, &places.k, &places.v}) {
    EXPECT_EQ(place->memory, 0u);
    EXPECT_EQ(place->strides, (RowStrides{96, 32, 8}));
  }
  EXPECT_EQ(places.o.strides, (RowStrides{48, 16, 8}));
}

TEST(TensorLayoutTest, PacksKeysAloneIfRowsAreFewer) {
  Problem problem = small();
  problem.seqlen_q = 1;
  const TensorPlaces places(problem, TensorLayout::kQkvPacked);
  EXPECT_EQ(places.elements, (std::vector<std::size_t>{32, 96}));
  EXPECT_EQ(places.q.memory, 0u);
  EXPECT_EQ(places.k.memory, 1u);
  EXPECT_EQ(places.v.first, 8);
  EXPECT_EQ(places.v.strides, (RowStrides{48, 16, 8}));
}

TEST(TensorLayoutTest, KeepsEveryElementOnce) {
  const std::vector<Half> q = numbered(96, 0), k = numbered(48, 96), v = numbered(48, 144);
  for (const auto layout : {TensorLayout::kBshd, TensorLayout::kBhsd, TensorLayout::kQkvPacked}) {
    const TensorPlaces places(small(), layout);
    std::vector<std::vector<Half>> memories = memories_of(places, q, k, v);
    const auto loaded = [&](const TensorPlace& place) {
      return bits_of(contiguous_copy(place.in(memories[place.memory].data()), place.shape));
    };
    EXPECT_EQ(loaded(places.q), bits_of(q)) << name_of(layout);
    EXPECT_EQ(loaded(places.k), bits_of(k)) << name_of(layout);
    EXPECT_EQ(loaded(places.v), bits_of(v)) << name_of(layout);
    std::vector<std::uint16_t> all;
    for (const auto& memory : memories) {
      for (const Half value : memory) all.push_back(value.bits);
    }
    std::ranges::sort(all);
    std::vector<std::uint16_t> each_once(192);
    std::iota(each_once.begin(), each_once.end(), std::uint16_t{0});
    EXPECT_EQ(all, each_once) << name_of(layout);
  }
}

}  // namespace
}  // namespace sparkbench
