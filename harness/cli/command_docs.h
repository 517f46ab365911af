// The purpose and usage of every command. --help and completion are made from this table; a test
// compares it with the table of harness/README.md.
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
/// std::logic_error for a command that is missing in `docs`.
void document_commands(CLI::App& program, std::span<const CommandDoc> docs, int width);

}  // namespace sparkbench
