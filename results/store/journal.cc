#include "results/store/journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

#include "kernels/base/files/input_file.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/text_seal.h"

namespace sparkbench {
namespace {

/// A row with a thousand samples is much shorter; longer rows are not read into memory.
constexpr std::uint64_t kMostRowBytes = std::uint64_t{64} << 20;

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view wrong) {
  throw OutputError(fmt::format("'{}': {}", path.string(), wrong));
}

[[noreturn]] void fail(const std::filesystem::path& path) { fail(path, std::strerror(errno)); }

/// Throws std::invalid_argument unless the row is as written. Sets `must_be_sealed` to whether the
/// next row must have a hash.
CaseRecord read_row(const FileLine& line, bool& must_be_sealed) {
  if (line.bytes == 0) throw std::invalid_argument("is blank");
  if (line.bytes > line.text.size()) {
    throw std::invalid_argument(fmt::format("is longer than {} bytes", kMostRowBytes));
  }
  const SealState seal = seal_state(line.text, kRowSeal);
  const bool has_hash = line.text.find("\"row_hash\"") != std::string_view::npos;
  if (has_hash && seal != SealState::kFits) {  // also for a hash in the wrong place
    throw std::invalid_argument("row_hash does not fit: the row was changed since it was written");
  }
  if (seal == SealState::kNone && must_be_sealed) {
    throw std::invalid_argument("row_hash is missing, which the rows before have");
  }
  CaseRecord record = case_from_json(line.text);
  must_be_sealed = must_be_sealed || seal == SealState::kFits;
  return record;
}

/// A line that a crash cut off is not a row, but the last row may lack only its newline.
bool is_torn(const FileLine& line) {
  if (line.is_ended) return false;
  try {
    bool must_be_sealed = false;
    read_row(line, must_be_sealed);
    return false;
  } catch (const std::invalid_argument&) {
    return true;
  }
}

void for_each_line(const std::filesystem::path& path,
                   const std::function<void(const FileLine&)>& use) {
  try {
    read_lines(path, kMostRowBytes, use);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("'{}' {}", path.string(), error.what()));
  }
}

/// Does not follow a link, which may lead out of the folder, and does not wait for a pipe's reader.
int open_to_append(const std::filesystem::path& path) {
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (file < 0 && errno == ELOOP) fail(path, "is a link; a run's journal is a file of its own");
  if (file < 0) fail(path);
  return file;
}

}  // namespace

Journal::Journal(std::filesystem::path path)
    : path_(std::move(path)), file_(open_to_append(path_)) {
  struct stat status = {};
  if (fstat(file_.get(), &status) != 0) fail(path_);
  if (!S_ISREG(status.st_mode)) fail(path_, "is no regular file");
  bool lacks_newline = false;
  for_each_line(path_, [&](const FileLine& line) {
    if (is_torn(line)) return;
    bytes_ = line.begin + line.bytes + (line.is_ended ? 1 : 0);
    lacks_newline = !line.is_ended;
  });
  if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) fail(path_);
  if (!lacks_newline) return;
  if (!file_.write_durably("\n")) fail(path_);
  ++bytes_;
}

void Journal::append(const CaseRecord& record) {
  const std::string line = journal_row(record) + "\n";
  if (!file_.write_durably(line)) {
    const int why = errno;
    // If this fails too, the next reader cuts the incomplete line off.
    [[maybe_unused]] const int ignored = ftruncate(file_.get(), static_cast<off_t>(bytes_));
    errno = why;
    fail(path_);
  }
  bytes_ += line.size();
  struct stat status = {};
  if (fstat(file_.get(), &status) == 0 && status.st_nlink == 0) {
    fail(path_, "was removed while the run went on");
  }
}

std::string journal_row(const CaseRecord& record) { return sealed(case_to_json(record), kRowSeal); }

JournalRows scan_journal(const std::filesystem::path& path) {
  JournalRows rows;
  std::size_t number = 0;
  bool must_be_sealed = false;
  for_each_line(path, [&](const FileLine& line) {
    if (is_torn(line)) return;
    ++number;
    rows.bytes = line.begin + line.bytes;
    try {
      rows.cases.push_back(read_row(line, must_be_sealed));
    } catch (const std::invalid_argument& error) {
      rows.damaged.push_back({number, line.begin, line.bytes, error.what()});
    }
  });
  return rows;
}

std::vector<CaseRecord> read_journal(const std::filesystem::path& path) {
  JournalRows rows = scan_journal(path);
  if (rows.damaged.empty()) return std::move(rows.cases);
  const DamagedRow& first = rows.damaged.front();
  throw std::invalid_argument(
      fmt::format("'{}' line {}: {}", path.string(), first.line, first.why));
}

}  // namespace sparkbench
