#include "results/store/run_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/base/files/input_file.h"
#include "results/store/csv.h"
#include "results/store/json.h"
#include "results/store/output_file.h"
#include "results/store/stored_run.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDamaged = "cases.damaged";

[[noreturn]] void reject(const fs::path& path, std::string_view wrong) {
  throw OutputError(fmt::format("--out: '{}' {}; give another folder", path.string(), wrong));
}

/// A temporary file of write_file() that was not renamed yet.
bool is_half_written(const std::string& name) {
  const auto begins = [&](const char* file) { return name.starts_with(file + std::string(".")); };
  return name.ends_with(".tmp") && (begins(kHeadFile) || begins(kJournalFile) || begins(kDamaged) ||
                                    begins("cases.csv") || begins("summary.md"));
}

/// A leftover of a run that was killed before its head was written.
bool is_worthless(const fs::directory_entry& entry) {
  if (fs::symlink_status(entry.path()).type() != fs::file_type::regular) return false;
  const std::string name = entry.path().filename().string();
  return is_half_written(name) || (name == kJournalFile && entry.file_size() == 0);
}

void require_nothing_in(const fs::path& path) {
  const fs::directory_iterator entries(path);
  if (!std::all_of(begin(entries), end(entries), is_worthless)) {
    reject(path, "exists and is not empty");
  }
}

fs::path make_folder(fs::path path) {
  std::error_code error;
  if (path.empty()) reject(path, "is no name");
  if (fs::exists(path, error) && !fs::is_directory(path, error)) reject(path, "is not a folder");
  fs::create_directories(path, error);
  if (error) reject(path, fmt::format("cannot be made ({})", error.message()));
  return path;
}

fs::path require_run(fs::path path) {
  std::error_code ignored;
  if (fs::is_regular_file(path / kHeadFile, ignored)) return path;
  throw OutputError(
      fmt::format("--resume: '{}' holds no {}: no case was begun there", path.string(), kHeadFile));
}

/// A descriptor that holds the folder's lock until it is closed, however the process ends.
int lock_folder(const fs::path& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) reject(path, fmt::format("cannot be read ({})", std::strerror(errno)));
  // Fails only if another process holds the lock; some network file systems have no locks.
  if (flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(folder);
    throw OutputError(fmt::format("'{}' is in use by another run of sparkbench", path.string()));
  }
  return folder;
}

/// Leftovers of a run that was killed while it wrote.
void remove_half_written(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(path)) {
    std::error_code ignored;
    if (is_half_written(entry.path().filename().string())) fs::remove(entry.path(), ignored);
  }
}

std::string rows_of(const std::vector<CaseRecord>& cases) {
  std::string text;
  for (const CaseRecord& record : cases) text += journal_row(record) + "\n";
  return text;
}

/// Moves damaged rows out of the journal.
void salvage(const fs::path& path, const JournalRows& rows, const RunRecord& head) {
  const std::vector<CaseRecord> lost = cases_lost(head, rows.cases);
  if (rows.damaged.empty() && lost.empty()) return;
  const std::string text = read_file(path / kJournalFile).substr(0, rows.bytes);
  std::string damaged, kept;
  std::size_t done = 0;  // of the text
  for (const DamagedRow& row : rows.damaged) {
    kept += text.substr(done, row.begin - done);
    damaged += text.substr(row.begin, row.bytes) + "\n";
    done = row.begin + row.bytes + 1;
  }
  if (done < text.size()) kept += text.substr(done) + "\n";
  FileDescriptor file(open((path / kDamaged).c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.is_open() || !file.write_durably(damaged + rows_of(lost))) {
    throw OutputError(fmt::format("'{}': {}", (path / kDamaged).string(), std::strerror(errno)));
  }
  replace_file(path / kJournalFile, kept);
}

/// Completes the journal with every case that can be trusted, before run.json is rewritten.
void make_journal_whole(const fs::path& path, RunFolder::Opening opening) {
  const fs::path journal = path / kJournalFile;
  const fs::file_status status = fs::symlink_status(journal);
  if (fs::exists(status) && status.type() != fs::file_type::regular) return;  // Journal refuses it
  const RunRecord head = read_run_head(path);
  const JournalRows rows = fs::exists(status) ? scan_journal(journal) : JournalRows();
  if (rows.cases.empty() && rows.damaged.empty()) {
    if (!head.cases.empty()) replace_file(journal, rows_of(head.cases));
  } else if (opening == RunFolder::Opening::kSalvaged) {
    salvage(path, rows, head);
  }
}

/// The journal of `path`, once the folder is known to be free.
fs::path journal_of(const fs::path& path, RunFolder::Opening opening) {
  if (opening == RunFolder::Opening::kNew) {
    require_nothing_in(path);
    return path / kJournalFile;
  }
  remove_half_written(path);
  try {
    make_journal_whole(path, opening);
  } catch (const std::invalid_argument& error) {
    throw OutputError(fmt::format("--resume: {}", error.what()));
  }
  return path / kJournalFile;
}

}  // namespace

RunFolder::RunFolder(fs::path path, Opening opening)
    : path_(opening == Opening::kNew ? make_folder(std::move(path)) : require_run(std::move(path))),
      lock_(lock_folder(path_)),
      journal_(journal_of(path_, opening)) {}

void RunFolder::check_new(const fs::path& path) {
  std::error_code error;
  if (path.empty()) reject(path, "is no name");
  if (fs::is_directory(path, error)) return require_nothing_in(path);
  if (fs::exists(path, error)) reject(path, "is not a folder");
  fs::path parent = fs::absolute(path, error).parent_path();
  while (!parent.empty() && !fs::exists(parent, error) && parent != parent.root_path()) {
    parent = parent.parent_path();
  }
  if (!fs::is_directory(parent, error)) {
    reject(path, fmt::format("cannot be made ({})", std::strerror(ENOTDIR)));
  }
  if (access(parent.c_str(), W_OK | X_OK) != 0) {
    reject(path, fmt::format("cannot be made ({})", std::strerror(errno)));
  }
}

void RunFolder::write_head(const RunRecord& run) const {
  replace_file(path_ / kHeadFile, run_to_json(run));
}

void RunFolder::write_derived(const RunRecord& run, std::string_view summary_markdown) const {
  write_head(run);
  replace_file(path_ / "cases.csv", cases_to_csv(run));
  replace_file(path_ / "summary.md", summary_markdown);
}

}  // namespace sparkbench
