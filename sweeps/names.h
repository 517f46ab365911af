// Selects known names (kernels, presets, devices) by the user's input.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkbench {

/// Whether `pattern` matches all of `name`: `*` stands for any characters, `?` for one.
bool glob_matches(std::string_view pattern, std::string_view name);

/// "--device: unknown 'emulated-v10', did you mean 'emulated-v100'?; allowed: ..."
std::string unknown_name_message(std::string_view flag, std::string_view typed,
                                 std::span<const std::string> known);

/// The known names that a comma-separated list of globs selects, in the order of `known`, without
/// duplicates. Throws UsageError if a glob selects nothing.
std::vector<std::string> select_names(std::string_view flag, std::string_view globs,
                                      std::span<const std::string> known);

/// The same for the names of an enumeration's values, 0 to kCount - 1.
template <class Enum, int kCount>
std::vector<std::string> select_names_of(std::string_view flag, std::string_view globs) {
  std::vector<std::string> known;
  known.reserve(kCount);
  for (int i = 0; i < kCount; ++i) known.emplace_back(name_of(static_cast<Enum>(i)));
  return select_names(flag, globs, known);
}

}  // namespace sparkbench
