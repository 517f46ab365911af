// cases.jsonl, the truth about a run: a line per case, on the disk before the next case begins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "results/record/case_record.h"
#include "results/store/file_descriptor.h"

namespace sparkbench {

class Journal {
 public:
  /// Opens `path` to append, and makes it when it is not there. Cuts off a torn last line, which a
  /// crash may have left. Throws OutputError.
  explicit Journal(std::filesystem::path path);

  /// Returns when the line is on the disk (fsync). Throws OutputError, and then the journal ends as
  /// it did before: a full disk leaves no half line.
  void append(const CaseRecord& record);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;  // of complete lines
};

/// The cases of a journal. A last line without a newline is the case in flight when the run died,
/// and is left out. Throws std::invalid_argument, naming the line, when any other is damaged, and
/// OutputError when the file cannot be read.
std::vector<CaseRecord> read_journal(const std::filesystem::path& path);

}  // namespace sparkbench
