// What every command is for and how it is called: of this table are --help, the man page, shells'
// completion, and, by a test, the table of harness/README.md.
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
  const char* summary;                // as harness/README.md says it
  std::vector<const char*> examples;  // lines to type
};

std::span<const CommandDoc> command_docs();

/// Gives each subcommand its summary, its examples, and help in lines of `width` characters. Throws
/// std::logic_error for one that is not in command_docs().
void document_commands(CLI::App& program, int width);

/// The program's flags and commands as a man page, in troff.
std::string format_man_page(const CLI::App& program);

/// What the shell ("bash" or "zsh") is to source: commands, their flags, and the values of those
/// that take names.
std::string format_completion(const CLI::App& program, const std::string& shell);

}  // namespace sparkbench
