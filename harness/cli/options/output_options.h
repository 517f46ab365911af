// The files that measuring commands, `report` and `merge` write.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace sparkbench {

/// Paths. Empty: not written; "-": standard output.
struct OutputFiles {
  std::string json, csv, markdown, html;
  bool csv_has_all_columns = false;  // else those that say something
  std::string outputs;               // --save-outputs: of one kernel, whole
};

using OutputFile = std::pair<const char*, std::string>;  // its flag, its path

/// The files that were asked for.
std::vector<OutputFile> files_asked_for(const OutputFiles& files);

/// Adds --json, --csv, --csv-all, --md and --html.
void add_file_flags(CLI::App& command, OutputFiles& files);

/// Adds --save-outputs.
void add_save_outputs_flag(CLI::App& command, OutputFiles& files);

/// Adds --salvage.
void add_salvage_flag(CLI::App& command, bool& salvages, const char* help);

inline constexpr const char* kOutputGroup = "Output ('-' is the standard output)";

}  // namespace sparkbench
