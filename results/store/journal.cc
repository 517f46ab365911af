#include "results/store/journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "results/store/json.h"
#include "results/store/output_error.h"

namespace sparkbench {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw OutputError(fmt::format("'{}': {}", path.string(), std::strerror(errno)));
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Length of the lines that are complete, the last newline included.
std::size_t complete_bytes(std::string_view text) {
  const std::size_t last_newline = text.rfind('\n');
  return last_newline == std::string_view::npos ? 0 : last_newline + 1;
}

}  // namespace

Journal::Journal(std::filesystem::path path)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_.is_open()) fail(path_);
  bytes_ = complete_bytes(read_text(path_));
  if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) fail(path_);
}

void Journal::append(const CaseRecord& record) {
  const std::string line = case_to_json(record) + "\n";
  if (!file_.write_durably(line)) {
    const int why = errno;
    // Should this fail too, the next reader cuts the torn line off.
    [[maybe_unused]] const int ignored = ftruncate(file_.get(), static_cast<off_t>(bytes_));
    errno = why;
    fail(path_);
  }
  bytes_ += line.size();
}

std::vector<CaseRecord> read_journal(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::vector<CaseRecord> cases;
  for (std::size_t begin = 0; begin < complete_bytes(text);) {
    const std::size_t end = text.find('\n', begin);
    try {
      cases.push_back(case_from_json(std::string_view(text).substr(begin, end - begin)));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("'{}' line {}: {}", path.string(), cases.size() + 1, error.what()));
    }
    begin = end + 1;
  }
  return cases;
}

}  // namespace sparkbench
