#include "reference/inputs/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sparkbench {
namespace {

constexpr TensorShape kShape = {2, 300, 3, 64};

struct Moments {
  double mean = 0.0, variance = 0.0, kurtosis = 0.0, max_abs = 0.0;
};

Moments moments_of(const std::vector<Half>& tensor) {
  const auto count = static_cast<double>(tensor.size());
  Moments m;
  for (const Half h : tensor) m.mean += to_float(h) / count;
  for (const Half h : tensor) {
    const double centred = to_float(h) - m.mean;
    m.variance += centred * centred / count;
    m.kurtosis += std::pow(centred, 4) / count;
    m.max_abs = std::max(m.max_abs, std::abs(double{to_float(h)}));
  }
  m.kurtosis /= m.variance * m.variance;
  return m;
}

bool equal(const std::vector<Half>& a, const std::vector<Half>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Half x, Half y) { return x.bits == y.bits; });
}

// For n normal numbers the mean has standard deviation n^-1/2, the variance (2/n)^1/2, the kurtosis
// (24/n)^1/2.
TEST(Inputs, NormalOnesHaveANormalDistributionsMoments) {
  const auto tensor = make_input({Distribution::kNormal, 1, InputTensor::kQ}, kShape);
  const double root = std::sqrt(static_cast<double>(tensor.size()));
  const Moments m = moments_of(tensor);
  EXPECT_LE(std::abs(m.mean), 5.0 / root);
  EXPECT_LE(std::abs(m.variance - 1.0), 5.0 * std::sqrt(2.0) / root);
  EXPECT_LE(std::abs(m.kurtosis - 3.0), 5.0 * std::sqrt(24.0) / root);
  EXPECT_LE(m.max_abs, 6.7);  // sqrt(2 * 32 * ln 2), the largest radius of 32 bits
}

TEST(Inputs, UniformOnesFillMinusOneToOne) {
  const auto tensor = make_input({Distribution::kUniform, 1, InputTensor::kQ}, kShape);
  const double root = std::sqrt(static_cast<double>(tensor.size()));
  const Moments m = moments_of(tensor);
  EXPECT_LE(std::abs(m.mean), 5.0 * std::sqrt(1.0 / 3.0) / root);
  EXPECT_LE(std::abs(m.variance - 1.0 / 3.0), 5.0 * std::sqrt(4.0 / 45.0) / root);
  EXPECT_LE(m.max_abs, 1.0);
  EXPECT_GE(m.max_abs, 0.999);
}

TEST(Inputs, OutliersAreNormalWithTwoChannelsScaled) {
  const auto normal = make_input({Distribution::kNormal, 1, InputTensor::kK}, kShape);
  const auto outliers = make_input({Distribution::kOutliers, 1, InputTensor::kK}, kShape);
  std::set<std::size_t> scaled;  // head * head_dim + channel
  for (std::size_t i = 0; i < normal.size(); ++i) {
    if (normal[i].bits == outliers[i].bits) continue;
    scaled.insert(i % (3 * 64));
    const float ratio = to_float(outliers[i]) / to_float(normal[i]);
    ASSERT_LE(std::abs(ratio - kOutlierScale), 0.02f * kOutlierScale);
  }
  ASSERT_EQ(scaled.size(), 3u * 2u);
  for (std::size_t half_head = 0; half_head < 6; ++half_head) {
    EXPECT_EQ(std::count_if(scaled.begin(), scaled.end(),
                            [&](std::size_t channel) { return channel / 32 == half_head; }),
              1);
  }
}

TEST(Inputs, GrowWithTheirScaleUntilTheyOverflow) {
  for (const auto distribution : {Distribution::kNormal, Distribution::kOutliers}) {
    const auto plain = make_input({distribution, 1, InputTensor::kV}, kShape);
    const auto scaled = make_input({distribution, 1, InputTensor::kV, 8.0f}, kShape);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (std::abs(to_float(plain[i])) < 0x1p-14f) continue;  // a subnormal had fewer bits
      ASSERT_EQ(to_float(scaled[i]), 8.0f * to_float(plain[i]));
    }
    EXPECT_TRUE(all_finite(scaled));
    EXPECT_FALSE(all_finite(make_input({distribution, 1, InputTensor::kV, 65536.0f}, kShape)));
  }
}

TEST(Inputs, RepeatForEqualStreamsAndOnlyThese) {
  const InputStream stream = {Distribution::kNormal, 7, InputTensor::kQ};
  const auto tensor = make_input(stream, kShape);
  EXPECT_TRUE(equal(tensor, make_input(stream, kShape)));
  EXPECT_FALSE(equal(tensor, make_input({Distribution::kNormal, 7, InputTensor::kK}, kShape)));
  EXPECT_FALSE(equal(tensor, make_input({Distribution::kNormal, 8, InputTensor::kQ}, kShape)));
}

TEST(Inputs, TensorsOfOneSeedAreUncorrelated) {
  const auto q = make_input({Distribution::kNormal, 7, InputTensor::kQ}, kShape);
  const auto k = make_input({Distribution::kNormal, 7, InputTensor::kK}, kShape);
  double sum = 0.0;
  for (std::size_t i = 0; i < q.size(); ++i) sum += double{to_float(q[i])} * to_float(k[i]);
  EXPECT_LE(std::abs(sum), 5.0 * std::sqrt(static_cast<double>(q.size())));
}

TEST(Inputs, AHeadAloneIsThatOfTheWhole) {
  for (const auto distribution :
       {Distribution::kNormal, Distribution::kUniform, Distribution::kOutliers}) {
    const InputStream stream = {distribution, 3, InputTensor::kV};
    const auto whole = make_input(stream, kShape);
    const auto slice = make_input_head(stream, kShape, 1, 2);
    for (int s = 0; s < kShape.seqlen; ++s) {
      const Half* row = &whole[row_offset(1, s, 2, kShape.seqlen, kShape.heads, kShape.head_dim)];
      for (std::size_t d = 0; d < 64; ++d) {
        ASSERT_EQ(slice[static_cast<std::size_t>(s) * 64 + d].bits, row[d].bits);
      }
    }
  }
}

TEST(Inputs, ALongerSequenceBeginsWithTheShorterOne) {
  const InputStream stream = {Distribution::kOutliers, 3, InputTensor::kQ};
  const auto shorter = make_input(stream, {1, 10, 3, 64});
  auto longer = make_input(stream, {1, 20, 3, 64});
  longer.resize(shorter.size());
  EXPECT_TRUE(equal(shorter, longer));
}

TEST(Inputs, OfAProblemHaveItsSizes) {
  Problem problem;
  problem.seqlen_q = 3;
  problem.seqlen_k = 5;
  problem.heads = 2;
  problem.head_dim = 6;  // not a multiple of the generator's four
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 1);
  EXPECT_EQ(inputs.q.size(), problem.q_elements());
  EXPECT_EQ(inputs.k.size(), problem.k_elements());
  EXPECT_EQ(inputs.v.size(), problem.k_elements());
}

TEST(Inputs, OfTheBackwardHaveTheirOwnStream) {
  const Problem problem{1, 2, 3, 5, 8};
  const auto d_o = make_gradient_input(problem, Distribution::kNormal, 1);
  EXPECT_EQ(d_o.size(), problem.q_elements());
  EXPECT_FALSE(equal(d_o, make_inputs(problem, Distribution::kNormal, 1).q));
}

}  // namespace
}  // namespace sparkbench
