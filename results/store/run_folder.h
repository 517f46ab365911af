// A run's folder: cases.jsonl (the truth), run.json (who, where, how, and as of its last writing
// the cases), and derived from them cases.csv and summary.md. Whoever has it open has it alone.
// Somebody else may have filled it: no link in it is followed to be written.
#pragma once

#include <filesystem>
#include <string_view>

#include "kernels/files/file_descriptor.h"
#include "results/record/run_record.h"
#include "results/store/journal.h"

namespace sparkbench {

class RunFolder {
 public:
  enum class Opening { kNew, kResumed, kSalvaged };

  /// kNew makes `path`, parents included. Throws OutputError when it cannot be made, is a file, or
  /// is not empty. kResumed throws OutputError when it holds no run; a journal that is not there or
  /// empty gets the cases of run.json, which would otherwise be lost. kSalvaged does so too, after
  /// it moved what is damaged in the journal, and what is lost from it, to cases.damaged. All throw
  /// OutputError when another process has the folder open.
  explicit RunFolder(std::filesystem::path path, Opening opening = Opening::kNew);

  /// Throws OutputError when kNew would, as far as that is known without making the folder.
  static void check_new(const std::filesystem::path& path);

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
