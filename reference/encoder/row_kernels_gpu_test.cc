// LayerNorm on a GPU beside its definition in fp64, of rows that are hard to normalize.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/machine/cuda_resources.h"
#include "reference/encoder/row_kernels.h"

namespace sparkbench {
namespace {

constexpr int kRows = 5;

/// A unit of fp16 is 2^-10: what is only rounded errs by a quarter of it in the mean.
constexpr double kRoundedRelL2 = 0x1p-11;

class OnDevice {
 public:
  explicit OnDevice(const std::vector<float>& values) : buffer_(values.size() * sizeof(Half)) {
    std::vector<Half> halves;
    for (const float value : values) halves.push_back(to_half(value));
    CUDA_CHECK(
        cudaMemcpy(buffer_.as<Half>(), halves.data(), buffer_.bytes(), cudaMemcpyHostToDevice));
    for (const Half half : halves) rounded_.push_back(to_float(half));
  }

  Half* data() const { return buffer_.as<Half>(); }
  /// As they were uploaded.
  double at(std::size_t i) const { return rounded_.at(i); }
  std::vector<float> download() const {
    std::vector<Half> halves(rounded_.size());
    CUDA_CHECK(
        cudaMemcpy(halves.data(), buffer_.as<Half>(), buffer_.bytes(), cudaMemcpyDeviceToHost));
    std::vector<float> values;
    for (const Half half : halves) values.push_back(to_float(half));
    return values;
  }

 private:
  DeviceBuffer buffer_;
  std::vector<double> rounded_;
};

/// Rows of z with an outlier in the first element, and the LayerNorm's other tensors.
struct Rows {
  Rows(int of_columns, float first_element)
      : columns(static_cast<std::size_t>(of_columns)),
        z(values(kRows, 1, 0, first_element)),
        d_norm(values(kRows, 1, 0, 0.5f)),
        gamma(values(1, 0.1f, 1, 1)),
        beta(values(1, 0.1f, 0, 0)) {}

  std::vector<float> values(int rows, float scale, float center, float first) {
    std::normal_distribution<float> normal(center, scale);
    std::vector<float> made(static_cast<std::size_t>(rows) * columns);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = i % columns == 0 ? first : normal(random);
    }
    return made;
  }
  RowExtents extents() const { return {kRows, static_cast<int>(columns)}; }

  std::size_t columns;
  std::mt19937 random{7};
  OnDevice z, d_norm, gamma, beta;
};

struct Expected {
  std::vector<double> norm, d_z, d_gamma, d_beta;
};

Expected expected_of(const Rows& rows) {
  const std::size_t columns = rows.columns;
  const auto count = static_cast<double>(columns);
  Expected expected{{}, {}, std::vector<double>(columns), std::vector<double>(columns)};
  for (std::size_t first = 0; first < kRows * columns; first += columns) {
    double mean = 0, variance = 0, of_one = 0, of_hat = 0;
    for (std::size_t j = 0; j < columns; ++j) mean += rows.z.at(first + j) / count;
    for (std::size_t j = 0; j < columns; ++j) {
      variance += std::pow(rows.z.at(first + j) - mean, 2) / count;
    }
    const double rstd = 1 / std::sqrt(variance + kLayerNormEpsilon);
    const auto hat = [&](std::size_t j) { return (rows.z.at(first + j) - mean) * rstd; };
    const auto d_hat = [&](std::size_t j) { return rows.d_norm.at(first + j) * rows.gamma.at(j); };
    for (std::size_t j = 0; j < columns; ++j) {
      of_one += d_hat(j) / count;
      of_hat += d_hat(j) * hat(j) / count;
      expected.norm.push_back(hat(j) * rows.gamma.at(j) + rows.beta.at(j));
      expected.d_gamma[j] += rows.d_norm.at(first + j) * hat(j);
      expected.d_beta[j] += rows.d_norm.at(first + j);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      expected.d_z.push_back(rstd * (d_hat(j) - of_one - hat(j) * of_hat));
    }
  }
  return expected;
}

/// NaN, and what differs in size, is infinitely far.
double rel_l2(std::span<const float> got, const std::vector<double>& want) {
  double difference = 0, square = 0;
  if (got.size() != want.size()) return INFINITY;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(got[i] - want[i], 2);
    square += want[i] * want[i];
  }
  const double error = std::sqrt(difference / square);
  return error == error ? error : INFINITY;
}

class RowKernels : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no CUDA device";
  }
};

/// Up to 90 standard deviations off, which is as far as an element of 8192 can be.
TEST_F(RowKernels, NormalizeRowsWithAnOutlierInTheFirstElement) {
  for (const int columns : {64, 136, 2048, 2056, 4096, 8192}) {
    for (const float first : {0.5f, 1000.0f, -30000.0f}) {
      SCOPED_TRACE(std::to_string(columns) + " columns, first element " + std::to_string(first));
      const Rows rows(columns, first);
      const Expected expected = expected_of(rows);
      const OnDevice norm(std::vector<float>(kRows * rows.columns)),
          d_z(std::vector<float>(kRows * rows.columns)), sums(std::vector<float>(2 * rows.columns));
      const DeviceBuffer scratch(norm_scratch_bytes(rows.extents()));
      add_norm({{rows.z.data(), nullptr, nullptr, nullptr, {}, DropoutSite::kFirst},
                rows.gamma.data(),
                rows.beta.data(),
                norm.data()},
               rows.extents(), nullptr);
      NormBackward backward;
      backward.d_norm = rows.d_norm.data();
      backward.z = rows.z.data();
      backward.gamma = rows.gamma.data();
      backward.d_z = d_z.data();
      backward.d_gamma = sums.data();
      backward.scratch = scratch.as<float>();
      norm_backward(backward, rows.extents(), nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      EXPECT_LT(rel_l2(norm.download(), expected.norm), kRoundedRelL2);
      const std::vector<float> got_sums = sums.download();
      EXPECT_LT(rel_l2(std::span(got_sums).first(rows.columns), expected.d_gamma), kRoundedRelL2);
      EXPECT_LT(rel_l2(std::span(got_sums).last(rows.columns), expected.d_beta), kRoundedRelL2);
      if (first > -30000.0f) {  // else most of d_z is too small for a normal number of fp16
        EXPECT_LT(rel_l2(d_z.download(), expected.d_z), kRoundedRelL2);
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench
