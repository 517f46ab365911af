// Random patterns against the definitions of their atoms.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/mask/pattern/acsr.h"
#include "kernels/mask/pattern/disjoint.h"
#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/testing/nightly.h"

namespace sparkbench {
namespace {

constexpr int kLongest = 300;
constexpr int kRowsOfTiles[] = {1, 16, 32, 64, 128, 7, 50},
              kKeysOfTiles[] = {1, 16, 64, 128, 32, 5, 48};

template <int kCount>
int one_of(Random& random, const int (&values)[kCount]) {
  return values[draw(random, 0, kCount - 1)];
}

std::string plan_differs(const Pattern& pattern, int head, const Picture& want, Random& random) {
  for (int trial = 0; trial < 3; ++trial) {
    const int rows = one_of(random, kRowsOfTiles), keys = one_of(random, kKeysOfTiles);
    const std::string wrong = tiles_differ(plan(pattern, head, rows, keys), want);
    if (!wrong.empty()) return std::to_string(rows) + " x " + std::to_string(keys) + ": " + wrong;
  }
  return "";
}

std::int64_t count_of(const Picture& want) {
  return std::count(want.visible.begin(), want.visible.end(), 1);
}

bool is_progression(const Picture& want, int row) {
  std::vector<int> keys;
  for (int key = 0; key < want.keys; ++key) {
    if (want.at(row, key)) keys.push_back(key);
  }
  for (std::size_t i = 2; i < keys.size(); ++i) {
    if (keys[i] - keys[i - 1] != keys[1] - keys[0]) return false;
  }
  return true;
}

/// Has the keys that are seen; refused exactly if a row is not in arithmetic progression.
std::string acsr_differs(const Pattern& pattern, int head, const Picture& want) {
  bool is_affine = true;
  for (int row = 0; row < want.rows; ++row) is_affine = is_affine && is_progression(want, row);
  try {
    const std::vector<AcsrRow> rows = acsr_of(pattern, head);
    if (!is_affine) return "ACSR of rows that are none";
    const Picture got(want.rows, want.keys, [&](int row, int key) {
      const AcsrRow& keys = rows[static_cast<std::size_t>(row)];
      const int distance = key - keys.offset;
      return keys.count > 0 && distance >= 0 && distance % keys.stride == 0 &&
             distance / keys.stride < keys.count;
    });
    return got.visible == want.visible ? "" : "ACSR";
  } catch (const std::invalid_argument& error) {
    return is_affine ? error.what() : "";
  }
}

void check(const RandomPattern& drawn, Random& random) {
  const Pattern& pattern = drawn.pattern;
  const Pattern apart = disjoint(pattern), turned = transposed(pattern);
  for (std::size_t i = 0; i < drawn.of_unions.size(); ++i) {
    const int head = static_cast<int>(i);
    const Picture &want = drawn.of_unions[i], want_turned = want.transposed();
    EXPECT_EQ(sees_differ(pattern, head, want), "");
    EXPECT_EQ(words_differ(pattern, head, want), "");
    EXPECT_EQ(plan_differs(pattern, head, want, random), "");
    EXPECT_EQ(takers_differ(apart, head, want), "");
    EXPECT_EQ(plan_differs(apart, head, want, random), "");
    EXPECT_EQ(passes_differ(pattern, head, want), "");
    EXPECT_EQ(sees_differ(turned, head, want_turned), "");
    EXPECT_EQ(words_differ(turned, head, want_turned), "");
    EXPECT_EQ(plan_differs(turned, head, want_turned, random), "");
    EXPECT_EQ(takers_differ(transposed(apart), head, want_turned), "");
    EXPECT_EQ(sees_differ(transposed(turned), head, want), "");
    EXPECT_EQ(static_cast<std::int64_t>(visible_pairs(pattern, head)), count_of(want));
    EXPECT_EQ(static_cast<std::int64_t>(visible_pairs(turned, head)), count_of(want));
    EXPECT_EQ(acsr_differs(pattern, head, want), "");
  }
}

/// Checks `drawn_of(random)` for one seed after the other.
template <class DrawnOf>
void check_patterns(const DrawnOf& drawn_of) {
  for (int seed = 0; seed < (is_nightly() ? 10000 : 60); ++seed) {
    Random random(static_cast<unsigned>(seed));
    const RandomPattern drawn = drawn_of(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + drawn.name);
    check(drawn, random);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RandomPatterns, AreWhatTheirAtomsSay) {
  check_patterns([](Random& random) { return random_pattern(random, kLongest); });
}

TEST(RandomPatterns, OverAGridAreWhatTheirAxesSay) {
  check_patterns([](Random& random) { return random_grid_pattern(random, kLongest / 2); });
}

}  // namespace
}  // namespace sparkbench
