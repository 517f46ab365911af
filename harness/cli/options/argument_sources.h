// Other sources of flags than the command line: the folder of --resume, the file of --config.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparkbench {

/// Inserts these arguments before the typed ones, so that the typed ones take precedence. For
/// --resume DIR: the flags that began the run there, except the folder, its output files (which are
/// reported to `err`), what it was allowed and whether it was quiet. For --config FILE: the keys of
/// the TOML file, which are flags without their dashes, at its top or in a table named after the
/// command. Neither for a command that does not take these flags, nor for a worker, whose arguments
/// are already expanded.
///
/// Throws UsageError, naming file, line and key, for a key that is not a flag of the command, and
/// for an unreadable file or folder.
std::vector<std::string> write_out_arguments(const CLI::App& program,
                                             const std::vector<std::string>& typed,
                                             std::ostream& err);

}  // namespace sparkbench
