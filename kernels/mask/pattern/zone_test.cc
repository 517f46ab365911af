// The operations on zones, checked pair by pair.
#include "kernels/mask/pattern/zone.h"

#include <gtest/gtest.h>

#include "kernels/mask/pattern/test_patterns.h"

namespace sparkbench {
namespace {

constexpr int kPlaces = 9;

Zone drawn_zone(Random& random) {
  Zone zone;
  int* const ends[][2] = {{&zone.q0, &zone.q1}, {&zone.k0, &zone.k1}, {&zone.d0, &zone.d1}};
  for (const auto& range : ends) {
    if (draw(random, 0, 2) == 0) continue;
    *range[0] = draw(random, -2, kPlaces);
    *range[1] = draw(random, -2, kPlaces + 1);
  }
  return zone;
}

template <class Check>
void for_random_zones(const Check& check) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const Zone zone = drawn_zone(random);
    check(zone, drawn_zone(random));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Zone, IsOfBothWhereBothSee) {
  for_random_zones([](const Zone& a, const Zone& b) {
    for (int q = -3; q < kPlaces; ++q) {
      for (int k = -3; k < kPlaces; ++k) {
        EXPECT_EQ(both(a, b).sees(q, k), a.sees(q, k) && b.sees(q, k));
        EXPECT_EQ(transposed(a).sees(k, q), a.sees(q, k));
      }
    }
  });
}

TEST(Zone, IsEmptyOnlyWithoutAPair) {
  Zone inside;
  inside.q0 = inside.k0 = 0;
  inside.q1 = inside.k1 = kPlaces;
  for_random_zones([&](const Zone& a, const Zone& b) {
    const Zone zone = both(both(a, b), inside);
    int pairs = 0;
    for (int q = 0; q < kPlaces; ++q) {
      for (int k = 0; k < kPlaces; ++k) pairs += zone.sees(q, k);
    }
    EXPECT_EQ(is_empty(zone), pairs == 0);
  });
}

TEST(Zone, HasExactHullAndCore) {
  for_random_zones([](const Zone& zone, const Zone&) {
    for (int begin = 0; begin < kPlaces; ++begin) {
      for (int end = begin + 1; end <= kPlaces; ++end) {
        for (int k = -3; k < kPlaces + 3; ++k) {
          int rows = 0;
          for (int q = begin; q < end; ++q) rows += zone.sees(q, k);
          EXPECT_EQ(hull(zone, {begin, end}).contains(k), rows > 0) << begin << ", " << end;
          EXPECT_EQ(core(zone, {begin, end}).contains(k), rows == end - begin);
        }
      }
    }
  });
}

TEST(Zone, SeesWithoutBoundsToTheEnds) {
  const Zone all;
  EXPECT_TRUE(all.sees(-kLongestSequence, kLongestSequence));
  EXPECT_TRUE(transposed(all).sees(kLongestSequence, -kLongestSequence));
  EXPECT_TRUE(core(transposed(all), {0, kLongestSequence}).contains(kLongestSequence));
  EXPECT_FALSE(is_empty(transposed(all)));
}

}  // namespace
}  // namespace sparkbench
