// cases.jsonl, the truth about a run: a line per case, on the disk before the next case begins.
// The last field of a row is its hash ("row_hash", text_seal.h): a row that was changed is not
// believed. Rows from before there was this field have none, but none follows a row that has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/files/file_descriptor.h"
#include "results/record/case_record.h"

namespace sparkbench {

class Journal {
 public:
  /// Opens `path` to append, and makes it when it is not there. Cuts off a torn last line, which a
  /// crash may have left. Throws OutputError, also for a link and for what is no regular file.
  explicit Journal(std::filesystem::path path);

  /// Returns when the line is on the disk (fsync). Throws OutputError, and then the journal ends as
  /// it did before: a full disk leaves no half line. Also when the file was removed meanwhile.
  void append(const CaseRecord& record);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;  // of complete lines
};

/// The line of a case, with its hash, without a newline.
std::string journal_row(const CaseRecord& record);

/// A line that is no row, or no longer the row that was written.
struct DamagedRow {
  std::size_t line;            // from 1
  std::uint64_t begin, bytes;  // of its text in the file, without the newline
  std::string why;
};

struct JournalRows {
  std::vector<CaseRecord> cases;
  std::vector<DamagedRow> damaged;
  std::uint64_t bytes = 0;  // of the file up to the end of the last row
};

/// What a journal holds. A last line without a newline that is no whole row is the case in flight
/// when the run died, and is left out. Throws std::invalid_argument when the file cannot be read.
JournalRows scan_journal(const std::filesystem::path& path);

/// The cases of a journal. Throws std::invalid_argument, naming the line, when one is damaged.
std::vector<CaseRecord> read_journal(const std::filesystem::path& path);

}  // namespace sparkbench
