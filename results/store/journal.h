// cases.jsonl, the primary record of a run: one line per case, on disk before the next case begins.
// The last field of a row is its hash ("row_hash", text_seal.h), and a row that was changed is
// rejected. Older rows have no hash, but a row without a hash never follows one with a hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/files/file_descriptor.h"
#include "results/record/case_record.h"

namespace sparkbench {

class Journal {
 public:
  /// Opens `path` to append and creates it if necessary. Cuts off an incomplete last line, which a
  /// crash may have left. Throws OutputError, also for a link and for anything but a regular file.
  explicit Journal(std::filesystem::path path);

  /// Returns when the line is on disk (fsync). Throws OutputError on failure and then restores the
  /// journal's end, so that a full disk leaves no partial line. Also throws if the file was
  /// removed.
  void append(const CaseRecord& record);

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;  // of complete lines
};

/// The line of a case, with its hash, without a newline.
std::string journal_row(const CaseRecord& record);

/// A line that is not a row, or no longer as written.
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

/// The contents of a journal. An incomplete last line without a newline is the case in flight when
/// the run died, and is left out. Throws std::invalid_argument if the file cannot be read.
JournalRows scan_journal(const std::filesystem::path& path);

/// The cases of a journal. Throws std::invalid_argument, naming the line, if one is damaged.
std::vector<CaseRecord> read_journal(const std::filesystem::path& path);

}  // namespace sparkbench
