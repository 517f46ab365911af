// Errors for words of the command line that the command does not take.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace sparkbench {

/// "sweep: unknown '--sequlen', did you mean '--seqlen'?; see sparkbench sweep --help". `command`
/// is `program` itself for a word before any command.
std::string unknown_argument_message(const CLI::App& program, const CLI::App& command,
                                     const std::string& word);

}  // namespace sparkbench
