#include "harness/commands/help_format.h"

#include <algorithm>
#include <sstream>

namespace sparkbench {

std::string WrappedHelp::filled(const std::string& text, std::size_t column) const {
  constexpr int kLeastColumn = 20;
  const auto room =
      static_cast<std::size_t>(std::max(kLeastColumn, width_ - static_cast<int>(column)));
  std::istringstream words(text);
  std::string result;
  std::size_t taken = 0;
  for (std::string word; words >> word;) {
    const bool is_new_line = taken > 0 && taken + 1 + word.size() > room;
    if (taken > 0) result += is_new_line ? '\n' : ' ';
    taken = (is_new_line || taken == 0 ? 0 : taken + 1) + word.size();
    result += word;
  }
  return result;
}

std::string WrappedHelp::make_option_desc(const CLI::Option* option) const {
  return filled(option->get_description(), get_column_width());
}

std::string WrappedHelp::make_description(const CLI::App* command) const {
  return filled(command->get_description(), 0) + "\n";
}

std::string WrappedHelp::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  CLI::detail::format_help(out, command->get_display_name(true),
                           filled(command->get_description(), get_column_width()),
                           get_column_width());
  return out.str();
}

}  // namespace sparkbench
