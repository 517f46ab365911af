#include "harness/cli/help_format.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace sparkbench {

std::string shown_type(const CLI::Option& option) {
  constexpr std::size_t kMostCharacters = 48;
  std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  if (colon == std::string::npos) return type;
  std::string allowed = type.substr(colon + 1);
  return allowed.size() > kMostCharacters ? "LIST" : allowed;
}

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

std::string WrappedHelp::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_type_size() != 0) {
    const std::string type = shown_type(*option);
    if (!type.empty()) text += " " + type;
    const bool goes_on = option->get_allow_extra_args() || option->get_positional();
    const bool is_list = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    if (is_list && goes_on) text += " ...";
    if (option->get_required()) text += " REQUIRED";
  }
  const auto add = [&](const char* word, const std::set<CLI::Option*>& others) {
    if (!others.empty()) text += std::string(" ") + word + ":";
    for (const CLI::Option* other : others) text += " " + other->get_name();
  };
  add("Needs", option->get_needs());
  add("Excludes", option->get_excludes());
  return text;
}

std::string WrappedHelp::make_option_desc(const CLI::Option* option) const {
  const std::string initial = option->get_default_str();
  return filled(option->get_description() + (initial.empty() ? "" : " [" + initial + "]"),
                get_column_width());
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
