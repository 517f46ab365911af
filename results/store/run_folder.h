// A run's folder: cases.jsonl (the truth), run.json (who, where, how, and as of its last writing
// the cases), and derived from them cases.csv and summary.md. Whoever has it open has it alone.
#pragma once

#include <filesystem>
#include <string_view>

#include "results/record/run_record.h"
#include "results/store/file_descriptor.h"
#include "results/store/journal.h"

namespace sparkbench {

class RunFolder {
 public:
  enum class Opening { kNew, kResumed };

  /// kNew makes `path`, parents included. Throws OutputError when it cannot be made, is a file, or
  /// is not empty. kResumed throws OutputError when it holds no run. Both throw OutputError when
  /// another process has the folder open.
  explicit RunFolder(std::filesystem::path path, Opening opening = Opening::kNew);

  const std::filesystem::path& path() const { return path_; }

  /// Writes run.json, before the first case: with it, what is in the journal can be resumed.
  void write_head(const RunRecord& run) const;

  /// Saves a case; a crash after it returns does not lose it.
  void append(const CaseRecord& record) { journal_.append(record); }

  /// Writes run.json, cases.csv and summary.md, each whole or not at all.
  void write_derived(const RunRecord& run, std::string_view summary_markdown) const;

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;  // the folder itself
  Journal journal_;
};

}  // namespace sparkbench
