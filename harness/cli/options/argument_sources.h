// Where flags come from besides the command line: the folder of --resume, the file of --config.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparkbench {

/// The arguments with these written out in front of what was typed, so that what was typed wins:
/// for --resume DIR the flags that began the run there (but for the folder and the files that it
/// wrote, of which files it tells `err`, what it was allowed and whether it was quiet), for
/// --config FILE the keys of the TOML file, which are flags without their dashes, at its top or in
/// a table named after the command. Neither, for a command that does not take these, or for a
/// worker, which is started with arguments that are written out.
///
/// Throws UsageError, naming file, line and key, for a key that is no flag of the command, and for
/// a file or folder that cannot be read.
std::vector<std::string> write_out_arguments(const CLI::App& program,
                                             const std::vector<std::string>& typed,
                                             std::ostream& err);

}  // namespace sparkbench
