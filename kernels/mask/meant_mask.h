// Suggestions for a text that is no mask: "windw:128", "window=128", "causal_strided:4".
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/meant_names.h"

namespace sparkbench {

/// A mask's text, split into its name and its fields.
struct MeantMask {
  std::string name;    // of `known`; "" when none is near enough to be meant
  std::string fields;  // as typed: ":128", or ""
};

inline MeantMask meant_mask(std::string_view typed, const std::vector<std::string>& known) {
  const auto is_of_name = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '-' ||
           letter == '_';
  };
  const auto end = std::find_if_not(typed.begin(), typed.end(), is_of_name);
  const auto letters = static_cast<std::size_t>(end - typed.begin());
  std::string fields(typed.substr(letters));
  fields.erase(0, fields.find_first_not_of("= "));
  if (!fields.empty() && fields.front() != ':') fields.insert(fields.begin(), ':');
  const std::vector<std::string> names = meant_names(typed.substr(0, letters), known);
  return {names.empty() ? "" : names.front(), fields};
}

}  // namespace sparkbench
