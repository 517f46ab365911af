#include "reference/encoder/row_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sparkbench {
namespace {

struct Row {
  std::vector<float> z, d;
};

/// Normal, but for the first element.
Row row_with(int columns, float first, float center) {
  std::mt19937 random(static_cast<unsigned>(columns));
  std::normal_distribution<float> normal;
  Row row;
  for (int i = 0; i < columns; ++i) {
    row.z.push_back(center + normal(random));
    row.d.push_back(normal(random));
  }
  row.z.front() = first;
  return row;
}

/// In two passes, by any arithmetic.
template <class Real>
RowMoments moments_of(const Row& row, std::size_t first, std::size_t end) {
  Real mean = 0, squares = 0, d = 0, d_off = 0;
  for (std::size_t i = first; i < end; ++i) mean += static_cast<Real>(row.z[i]);
  mean /= static_cast<Real>(end - first);
  for (std::size_t i = first; i < end; ++i) {
    const Real off = static_cast<Real>(row.z[i]) - mean;
    squares += off * off;
    d += static_cast<Real>(row.d[i]);
    d_off += static_cast<Real>(row.d[i]) * off;
  }
  return {static_cast<float>(mean), static_cast<float>(squares), static_cast<float>(d),
          static_cast<float>(d_off)};
}

void expect_joined(const Row& row, std::size_t of_part) {
  std::vector<RowMoments> parts;
  for (std::size_t first = 0; first < row.z.size(); first += of_part) {
    parts.push_back(moments_of<float>(row, first, std::min(first + of_part, row.z.size())));
  }
  const RowMoments got =
      joined(parts.data(), static_cast<int>(of_part), static_cast<int>(row.z.size()));
  const RowMoments want = moments_of<double>(row, 0, row.z.size());
  const double sigma = std::sqrt(want.squares / static_cast<double>(row.z.size()));
  EXPECT_NEAR(got.mean, want.mean, 1e-5 * (std::abs(want.mean) + sigma));
  EXPECT_NEAR(got.squares / want.squares, 1, 1e-5);
  const double size = std::sqrt(static_cast<double>(row.z.size()) * want.squares);  // of |d| |off|
  EXPECT_NEAR(got.d, want.d, 1e-5 * static_cast<double>(row.z.size()));
  EXPECT_NEAR(got.d_off, want.d_off, 3e-5 * size);
}

TEST(RowMoments, OfPartsAreThoseOfTheRow) {
  for (const int columns : {8, 64, 256, 264, 2048, 8192}) {
    for (const float center : {0.0f, 30.0f, -500.0f}) {
      expect_joined(row_with(columns, center, center), 256);
    }
  }
}

/// A row of n has no element further than sqrt(n) standard deviations from its mean: with 8192
/// columns 90. A variance as the mean square off that element, less that mean's square, loses more
/// than a part in a thousand.
TEST(RowMoments, HoldWithAnOutlierInTheFirstElement) {
  for (const int columns : {256, 2048, 8192}) {
    for (const float first : {1000.0f, -60000.0f}) {
      expect_joined(row_with(columns, first, 0.0f), 256);
    }
  }
}

TEST(RowMoments, OfEqualElementsHaveNoSquares) {
  const Row row{std::vector<float>(2048, 0.1f), std::vector<float>(2048, 1.0f)};
  std::vector<RowMoments> parts(8, {0.1f, 0.0f, 256.0f, 0.0f});
  EXPECT_LT(joined(parts.data(), 256, 2048).squares, 2048 * 1e-12f);
}

}  // namespace
}  // namespace sparkbench
