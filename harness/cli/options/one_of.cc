#include "harness/cli/options/one_of.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "sweeps/names.h"

namespace sparkbench {

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string shown = fmt::format("{{{}}}", fmt::join(names, ","));
  return CLI::Validator(
      [names = std::move(names)](const std::string& text) {
        if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
        constexpr std::size_t kFlagOfNone = 2;  // ": ", which CLI11 writes itself
        return unknown_name_message("", text, names).substr(kFlagOfNone);
      },
      shown);
}

}  // namespace sparkbench
