// For tests: cases computed by hand.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "kernels/base/half.h"

namespace sparkbench {

inline std::vector<Half> halves(std::initializer_list<float> values) {
  std::vector<Half> result;
  for (const float value : values) result.push_back(to_half(value));
  return result;
}

inline void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                        double tolerance = 1e-7) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;  // infinities
    EXPECT_LE(std::abs(got[i] - want[i]), tolerance)
        << "element " << i << " is " << got[i] << ", not " << want[i];
  }
}

}  // namespace sparkbench
