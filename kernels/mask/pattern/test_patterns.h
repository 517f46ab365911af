// For tests: patterns drawn at random, each with the pairs that its atoms' definitions show, not
// the algebra; and checks that report the first difference.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/mask/pattern/pattern.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

using Random = std::mt19937;
inline int draw(Random& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}

/// Whether row `row` sees key `key`.
using Predicate = std::function<bool(int row, int key)>;

/// The visible pairs, one by one.
struct Picture {
  int rows, keys;
  std::vector<char> visible;

  Picture(int row_count, int key_count, const Predicate& sees) : rows(row_count), keys(key_count) {
    visible.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(keys));
    for (int row = 0; row < rows; ++row) {
      for (int key = 0; key < keys; ++key) visible.push_back(sees(row, key));
    }
  }
  bool at(int row, int key) const {
    return visible[static_cast<std::size_t>(row) * static_cast<std::size_t>(keys) +
                   static_cast<std::size_t>(key)] != 0;
  }
  Picture transposed() const {
    return {keys, rows, [this](int row, int key) { return at(key, row); }};
  }
};

struct RandomPattern {
  std::string name;  // says how it was made
  Pattern pattern;
  std::vector<Picture> of_unions;
};

/// Up to two unions of up to four parts, over lengths of at most `most`.
RandomPattern random_pattern(Random& random, int most);

/// One union over a grid of 64 to `most` tokens: windows, and zones of each axis.
RandomPattern random_grid_pattern(Random& random, int most);

/// Each "" or the first difference.
std::string sees_differ(const Pattern& pattern, int head, const Picture& want);
std::string words_differ(const Pattern& pattern, int head, const Picture& want);
/// Checks that visible pairs are in visited tiles, and that full tiles are full.
std::string tiles_differ(const TilePlan& plan, const Picture& want);
/// Checks that exactly one term takes each visible pair, and none takes any other.
std::string takers_differ(const Pattern& pattern, int head, const Picture& want);
std::string passes_differ(const Pattern& pattern, int head, const Picture& want);

}  // namespace sparkbench
