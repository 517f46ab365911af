// Help that fits the terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sparkbench {

/// The option's value in help and manual: "INT in [1 - 100]", "{cold,hot}", and "LIST" for a long
/// list of names, which is in its description.
std::string shown_type(const CLI::Option& option);

/// Like CLI11's own, with descriptions wrapped at `width` characters.
class WrappedHelp : public CLI::Formatter {
 public:
  explicit WrappedHelp(int width) : width_(width) {}

  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_subcommand(const CLI::App* command) const override;

  /// Wraps text for the space next to names of `column` characters.
  std::string filled(const std::string& text, std::size_t column) const;

 private:
  int width_;
};

}  // namespace sparkbench
