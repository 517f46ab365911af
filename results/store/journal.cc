#include "results/store/journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "results/record/case_id.h"
#include "results/store/input_file.h"
#include "results/store/json.h"
#include "results/store/output_error.h"

namespace sparkbench {
namespace {

constexpr std::string_view kHashField = ",\"row_hash\":\"";
constexpr std::size_t kHashDigits = 16;
constexpr std::size_t kSealBytes = kHashField.size() + kHashDigits + 2;  // quote and brace

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view wrong) {
  throw OutputError(fmt::format("'{}': {}", path.string(), wrong));
}

[[noreturn]] void fail(const std::filesystem::path& path) { fail(path, std::strerror(errno)); }

bool is_sealed(std::string_view row) {
  return row.size() > kSealBytes && row.ends_with("\"}") &&
         row.substr(row.size() - kSealBytes).starts_with(kHashField);
}

/// Throws std::invalid_argument unless the row is as it was written.
CaseRecord read_row(std::string_view row, bool must_be_sealed) {
  if (is_sealed(row)) {
    const std::string json = std::string(row.substr(0, row.size() - kSealBytes)) + "}";
    const std::string_view hash = row.substr(row.size() - kHashDigits - 2, kHashDigits);
    if (hash != to_hex(fnv1a(json))) {
      throw std::invalid_argument(
          "row_hash does not fit: the row was changed since it was written");
    }
  } else if (must_be_sealed) {
    throw std::invalid_argument("row_hash is missing, which the rows before have");
  }
  return case_from_json(row);
}

bool is_row(std::string_view text) {
  try {
    read_row(text, false);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

/// Length of the lines that are complete. A last row may lack its newline alone.
std::size_t complete_bytes(std::string_view text) {
  const std::size_t last_newline = text.rfind('\n');
  const std::size_t bytes = last_newline == std::string_view::npos ? 0 : last_newline + 1;
  return bytes < text.size() && is_row(text.substr(bytes)) ? text.size() : bytes;
}

std::string read_text(const std::filesystem::path& path) {
  try {
    return read_file(path);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("'{}' {}", path.string(), error.what()));
  }
}

/// Neither through a link, which may lead out of the folder, nor waiting for a pipe's reader.
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
  const std::string text = read_text(path_);
  bytes_ = complete_bytes(text);
  if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) fail(path_);
  if (bytes_ == 0 || text[bytes_ - 1] == '\n') return;
  if (!file_.write_durably("\n")) fail(path_);
  ++bytes_;
}

void Journal::append(const CaseRecord& record) {
  const std::string line = journal_row(record) + "\n";
  if (!file_.write_durably(line)) {
    const int why = errno;
    // Should this fail too, the next reader cuts the torn line off.
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

std::string journal_row(const CaseRecord& record) {
  std::string row = case_to_json(record);
  const std::string hash = to_hex(fnv1a(row));
  row.pop_back();
  return row.append(kHashField).append(hash).append("\"}");
}

JournalRows scan_journal(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  const std::string_view complete = std::string_view(text).substr(0, complete_bytes(text));
  JournalRows rows;
  bool must_be_sealed = false;
  for (std::size_t begin = 0, line = 1; begin < complete.size(); ++line) {
    const std::size_t end = std::min(complete.find('\n', begin), complete.size());
    const std::string_view row = complete.substr(begin, end - begin);
    try {
      if (row.empty()) throw std::invalid_argument("is blank");
      rows.cases.push_back(read_row(row, must_be_sealed));
      rows.lines.emplace_back(row);
      must_be_sealed = must_be_sealed || is_sealed(row);
    } catch (const std::invalid_argument& error) {
      rows.damaged.push_back({line, std::string(row), error.what()});
    }
    begin = end + 1;
  }
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
