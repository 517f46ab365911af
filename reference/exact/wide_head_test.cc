#include "reference/exact/wide_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sparkbench {
namespace {

/// Head 1 of the second batch element is 1 2, 3 4, 5 6; everything else is 100.
std::vector<Half> tensor_of(const TensorShape& shape) {
  std::vector<Half> tensor(shape.rows() * 2, to_half(100.0f));
  for (int s = 0; s < shape.seqlen; ++s) {
    Half* row = &tensor[row_offset(1, s, 1, shape.seqlen, shape.heads, shape.head_dim)];
    row[0] = to_half(static_cast<float>(2 * s + 1));
    row[1] = to_half(static_cast<float>(2 * s + 2));
  }
  return tensor;
}

TEST(WideHead, MultipliesByRowsFromTheFirstAskedOne) {
  const TensorShape shape{2, 3, 2, 2};
  const WideHead head(tensor_of(shape), shape, 1, 1, {0, 3});
  const std::vector<double> x = {10.0, 1.0};
  std::vector<double> all(3, -1.0), last(2, -1.0);
  head.dot_rows(x, 0, all);
  head.dot_rows(x, 1, last);
  EXPECT_EQ(all, (std::vector<double>{12.0, 34.0, 56.0}));
  EXPECT_EQ(last, (std::vector<double>{34.0, 56.0}));
}

TEST(WideHead, FewRowsHaveTheBitsOfMany) {
  const TensorShape shape{1, 600, 1, 13};
  std::vector<Half> tensor;
  for (int i = 0; i < 600 * 13; ++i) tensor.push_back(to_half(std::sin(static_cast<float>(i))));
  const WideHead head(tensor, shape, 0, 0, {0, 600});
  std::vector<double> x(13);
  for (std::size_t d = 0; d < x.size(); ++d) x[d] = std::cos(static_cast<double>(d));
  std::vector<double> many(600);
  head.dot_rows(x, 0, many);
  for (const std::size_t count : {0u, 1u, 3u, 4u, 6u, 255u}) {
    std::vector<double> few(count);
    head.dot_rows(x, 100, few);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin() + 100)) << count;
  }
}

TEST(WideHead, AddsWeightedRowsFromTheFirstAskedOne) {
  const TensorShape shape{2, 3, 2, 2};
  const WideHead head(tensor_of(shape), shape, 1, 1, {0, 3});
  std::vector<double> sum = {1000.0, 2000.0};
  head.add_rows(std::vector<double>{1.0, 10.0}, 1, sum);
  EXPECT_EQ(sum, (std::vector<double>{1053.0, 2064.0}));
}

TEST(WideHead, MultipliesSequencesLongerThanACache) {
  const TensorShape shape{1, 5000, 1, 1};
  const WideHead head(std::vector<Half>(5000, to_half(3.0f)), shape, 0, 0, {0, 5000});
  std::vector<double> dots(4990);
  head.dot_rows(std::vector<double>{2.0}, 10, dots);
  EXPECT_EQ(dots, std::vector<double>(4990, 6.0));
}

TEST(WideHead, OfSomeRowsHasTheBitsOfAll) {
  const TensorShape shape{1, 600, 1, 13};
  std::vector<Half> tensor;
  for (int i = 0; i < 600 * 13; ++i) tensor.push_back(to_half(std::sin(static_cast<float>(i))));
  const WideHead all(tensor, shape, 0, 0, {0, 600}), some(tensor, shape, 0, 0, {190, 590});
  const std::vector<double> x(13, 0.7);
  for (const std::size_t count : {5u, 400u}) {
    std::vector<double> dots(count), dots_of_some(count);
    all.dot_rows(x, 190, dots);
    some.dot_rows(x, 190, dots_of_some);
    EXPECT_EQ(dots_of_some, dots);
    std::vector<double> sum(13), sum_of_some(13);
    all.add_rows(dots, 190, sum);
    some.add_rows(dots, 190, sum_of_some);
    EXPECT_EQ(sum_of_some, sum);
  }
}

TEST(WideHead, MayHaveNoRows) {
  const TensorShape shape{1, 3, 1, 2};
  const WideHead none(std::vector<Half>(6, to_half(1.0f)), shape, 0, 0, {0, 0});
  std::vector<double> sum = {1.0, 2.0};
  none.dot_rows(std::vector<double>{1.0, 1.0}, 0, {});
  none.add_rows({}, 0, sum);
  EXPECT_EQ(sum, (std::vector<double>{1.0, 2.0}));
}

}  // namespace
}  // namespace sparkbench
