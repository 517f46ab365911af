// A run's folder: cases.jsonl (the primary record), run.json (who, where, how, and the cases so
// far), and cases.csv and summary.md derived from them. Only one process can have it open. Somebody
// else may have filled it, so no link in it is followed when writing.
#pragma once

#include <filesystem>
#include <string_view>

#include "kernels/base/files/file_descriptor.h"
#include "results/record/run_record.h"
#include "results/store/journal.h"

namespace sparkbench {

class RunFolder {
 public:
  enum class Opening { kNew, kResumed, kSalvaged };

  /// kNew creates `path` with its parents. Throws OutputError if it cannot be created, is a file,
  /// or is not empty. kResumed throws OutputError if it holds no run; a missing or empty journal
  /// gets the cases of run.json, which would otherwise be lost. kSalvaged does the same, but first
  /// moves damaged rows of the journal, and cases that it lost, to cases.damaged. All throw
  /// OutputError if another process has the folder open.
  explicit RunFolder(std::filesystem::path path, Opening opening = Opening::kNew);

  /// Throws OutputError if kNew would, as far as that is known without creating the folder.
  static void check_new(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  /// Writes run.json before the first case; without it the journal could not be resumed.
  void write_head(const RunRecord& run) const;

  /// Saves a case. A crash after it returns does not lose the case.
  void append(const CaseRecord& record) { journal_.append(record); }

  /// Writes run.json, cases.csv and summary.md, each completely or not at all.
  void write_derived(const RunRecord& run, std::string_view summary_markdown) const;

 private:
  std::filesystem::path path_;
  FileDescriptor lock_;  // the folder itself
  Journal journal_;
};

}  // namespace sparkbench
