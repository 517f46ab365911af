// Runs Python from the program: the project's scripts for figures, and its package for PyTorch's
// kernels.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sparkbench {

struct ScriptEnd {
  int status = 0;          // 127 if python3 could not be started
  std::string last_words;  // the last line of its error stream
};

/// A script in the source tree of this build: "results/plot.py".
std::filesystem::path project_script(const std::string& path);

/// Runs `python3 script arguments`, with python3 from PATH and its standard output discarded, and
/// waits for it. Never throws for a failing script.
ScriptEnd run_python(const std::filesystem::path& script, std::span<const std::string> arguments);

/// The same of any command: its words, the first looked up in PATH.
ScriptEnd run_command(std::vector<std::string> words);

/// A file that is deleted with the object.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& suffix);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace sparkbench
