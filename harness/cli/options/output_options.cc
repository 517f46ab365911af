#include "harness/cli/options/output_options.h"

#include <CLI/CLI.hpp>

namespace sparkbench {

std::vector<OutputFile> files_asked_for(const OutputFiles& files) {
  std::vector<OutputFile> asked = {{"--json", files.json},
                                   {"--csv", files.csv},
                                   {"--md", files.markdown},
                                   {"--html", files.html},
                                   {"--save-outputs", files.outputs}};
  std::erase_if(asked, [](const OutputFile& file) { return file.second.empty(); });
  return asked;
}

void add_file_flags(CLI::App& command, OutputFiles& files) {
  const auto add = [&](const char* flag, std::string& file, const char* help) {
    return command.add_option(flag, file, help)->type_name("FILE")->group(kOutputGroup);
  };
  add("--json", files.json, "write the whole record");
  CLI::Option* const csv = add("--csv", files.csv, "write a row per case");
  command
      .add_flag("--csv-all", files.csv_has_all_columns,
                "all columns in --csv, even if empty or constant in this run")
      ->needs(csv)
      ->group(kOutputGroup);
  add("--md", files.markdown, "write the table as markdown");
  add("--html", files.html, "write one page with a table that sorts and filters, and the figures");
}

void add_save_outputs_flag(CLI::App& command, OutputFiles& files) {
  command
      .add_option("--save-outputs", files.outputs,
                  "write one kernel's whole o, lse, dq, dk and dv as a safetensors file")
      ->type_name("FILE")
      ->group(kOutputGroup);
}

void add_salvage_flag(CLI::App& command, bool& salvages, const char* help) {
  command.add_flag("--salvage", salvages, help)->group(kOutputGroup);
}

}  // namespace sparkbench
