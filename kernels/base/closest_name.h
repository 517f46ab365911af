// The known name that a mistyped one is nearest to. meant_names.h knows other reasons too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// Insertions, deletions and substitutions that turn `a` into `b` (Levenshtein). Capital letters of
/// ASCII are as small ones.
inline int edit_distance(std::string_view a, std::string_view b) {
  const auto small = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  // row[j] is the distance of the first i characters of a to the first j of b.
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int substituted = diagonal + (small(a[i]) == small(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// The known name nearest to `typed`, the first of several, or "" when none is near enough to be
/// meant. `known` is a range of texts.
template <class Names>
std::string closest_name(std::string_view typed, const Names& known) {
  // A third of the characters wrong is a slip; more is another word.
  int nearest = static_cast<int>(typed.size()) / 3 + 1;
  std::string name;
  for (const auto& candidate : known) {
    const int distance = edit_distance(typed, candidate);
    if (distance < nearest || (distance == nearest && name.empty())) {
      nearest = distance;
      name = candidate;
    }
  }
  return name;
}

/// ", did you mean 'causal'?", to append to a message; "" if no name is near.
inline std::string did_you_mean(std::string_view name) {
  return name.empty() ? "" : ", did you mean '" + std::string(name) + "'?";
}

}  // namespace sparkbench
