// Runs the project's Python scripts from the program: figures, and PyTorch's kernels.
#pragma once

#include <filesystem>
#include <span>
#include <string>

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
