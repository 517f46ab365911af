#include "results/store/run_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "results/store/csv.h"
#include "results/store/json.h"
#include "results/store/output_error.h"
#include "results/store/output_file.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = "run.json";
constexpr const char* kJournal = "cases.jsonl";

[[noreturn]] void reject(const fs::path& path, std::string_view wrong) {
  throw OutputError(fmt::format("--out: '{}' {}; give another folder", path.string(), wrong));
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
  if (fs::is_regular_file(path / kHead, ignored)) return path;
  throw OutputError(
      fmt::format("--resume: '{}' holds no {}: no case was begun there", path.string(), kHead));
}

/// A descriptor that holds the folder's lock until it is closed, however the process ends.
int lock_folder(const fs::path& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) reject(path, fmt::format("cannot be read ({})", std::strerror(errno)));
  // Only a lock that someone else has is a reason to stop: some network file systems have none.
  if (flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(folder);
    throw OutputError(fmt::format("'{}' is in use by another run of sparkbench", path.string()));
  }
  return folder;
}

/// What a run leaves behind that is killed before its head is written: nothing of worth.
bool is_worthless(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const bool is_half_a_head = name.starts_with(kHead) && name.ends_with(".tmp");
  return is_half_a_head || (name == kJournal && entry.is_regular_file() && entry.file_size() == 0);
}

/// The journal of `path`, once the folder is known to be free.
fs::path journal_of(const fs::path& path, RunFolder::Opening opening) {
  const fs::directory_iterator entries(path);
  if (opening == RunFolder::Opening::kNew &&
      !std::all_of(begin(entries), end(entries), is_worthless)) {
    reject(path, "exists and is not empty");
  }
  return path / kJournal;
}

}  // namespace

RunFolder::RunFolder(fs::path path, Opening opening)
    : path_(opening == Opening::kNew ? make_folder(std::move(path)) : require_run(std::move(path))),
      lock_(lock_folder(path_)),
      journal_(journal_of(path_, opening)) {}

void RunFolder::write_head(const RunRecord& run) const {
  write_file(path_ / kHead, run_to_json(run));
}

void RunFolder::write_derived(const RunRecord& run, std::string_view summary_markdown) const {
  write_head(run);
  write_file(path_ / "cases.csv", cases_to_csv(run));
  write_file(path_ / "summary.md", summary_markdown);
}

}  // namespace sparkbench
