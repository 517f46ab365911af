#include "sweeps/names.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "kernels/base/meant_names.h"
#include "sweeps/list_flag.h"
#include "sweeps/usage_error.h"

namespace sparkbench {

bool glob_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return glob_matches(pattern.substr(1), name) ||
           (!name.empty() && glob_matches(pattern, name.substr(1)));
  }
  if (name.empty() || (pattern.front() != '?' && pattern.front() != name.front())) return false;
  return glob_matches(pattern.substr(1), name.substr(1));
}

std::string unknown_name_message(std::string_view flag, std::string_view typed,
                                 std::span<const std::string> known) {
  return fmt::format("{}: unknown '{}'{}; allowed: {}", flag, typed,
                     did_you_mean(meant_names(typed, known)),
                     fmt::join(known.begin(), known.end(), ", "));
}

std::vector<std::string> select_names(std::string_view flag, std::string_view globs,
                                      std::span<const std::string> known) {
  std::vector<bool> is_selected(known.size(), false);
  for (const std::string_view glob : split_list(flag, globs)) {
    bool selects = false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!glob_matches(glob, known[i])) continue;
      is_selected[i] = true;
      selects = true;
    }
    if (!selects) throw UsageError(unknown_name_message(flag, glob, known));
  }
  std::vector<std::string> selected;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (is_selected[i]) selected.push_back(known[i]);
  }
  return selected;
}

}  // namespace sparkbench
