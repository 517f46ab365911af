// The purpose and usage of every command. --help, the man page, shell completion and, by a test,
// the table of harness/README.md come from this table.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparkbench {

struct CommandDoc {
  const char* name;
  const char* summary;                // as in harness/README.md
  std::vector<const char*> examples;  // command lines
};

std::span<const CommandDoc> command_docs();

/// Gives each subcommand its summary, its examples, and help in lines of `width` characters. Throws
/// std::logic_error for a command that is missing in command_docs().
void document_commands(CLI::App& program, int width);

/// The program's flags and commands as a man page, in troff.
std::string format_man_page(const CLI::App& program);

/// The script for the shell ("bash" or "zsh") to source: commands, their flags, and the values of
/// flags that take names.
std::string format_completion(const CLI::App& program, const std::string& shell);

}  // namespace sparkbench
