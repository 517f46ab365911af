// Help that fits the terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sparkbench {

/// As CLI11's own, with descriptions broken at spaces so that lines are of `width` characters.
/// What the option takes, as help and manual say it: "INT in [1 - 100]", "{cold,hot}", and "LIST"
/// of names that are too many, which its description has.
std::string shown_type(const CLI::Option& option);

class WrappedHelp : public CLI::Formatter {
 public:
  explicit WrappedHelp(int width) : width_(width) {}

  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_subcommand(const CLI::App* command) const override;

  /// In lines that fit beside names, which take `column` characters.
  std::string filled(const std::string& text, std::size_t column) const;

 private:
  int width_;
};

}  // namespace sparkbench
