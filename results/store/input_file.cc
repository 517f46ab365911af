#include "results/store/input_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "results/store/file_descriptor.h"

namespace sparkbench {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;

[[noreturn]] void reject_by_errno() {
  throw std::invalid_argument(fmt::format("cannot be read ({})", std::strerror(errno)));
}

/// Opening a pipe would wait for its writer: what the file is, is asked first.
void require_kind(const std::filesystem::path& path, Pipes pipes) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) reject_by_errno();
  if (S_ISREG(status.st_mode)) return;
  if (S_ISDIR(status.st_mode)) throw std::invalid_argument("is a folder");
  if (!S_ISFIFO(status.st_mode)) throw std::invalid_argument("is no regular file");
  if (pipes == Pipes::kRefused) throw std::invalid_argument("is a pipe, no regular file");
}

FileDescriptor open_to_read(const std::filesystem::path& path, Pipes pipes) {
  require_kind(path, pipes);
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) reject_by_errno();
  return file;
}

/// 0 at the end of the file.
std::size_t read_some(const FileDescriptor& file, char* to, std::size_t bytes) {
  while (true) {
    const ssize_t count = read(file.get(), to, bytes);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) reject_by_errno();
  }
}

/// Of the line that is being read.
struct OpenLine {
  std::uint64_t begin = 0, bytes = 0;
  std::string kept;

  void add(std::string_view part, std::uint64_t most_kept) {
    bytes += part.size();
    kept.append(part.substr(0, std::min<std::uint64_t>(part.size(), most_kept - kept.size())));
  }
  FileLine line(bool is_ended) const { return {begin, bytes, kept, is_ended}; }
};

}  // namespace

std::string read_file(const std::filesystem::path& path, Pipes pipes, std::uint64_t most_bytes) {
  const FileDescriptor file = open_to_read(path, pipes);
  std::string text;
  std::size_t done = 0;
  while (true) {
    if (text.size() < done + kChunkBytes) text.resize(std::max(2 * done, done + kChunkBytes));
    const std::size_t count = read_some(file, &text[done], text.size() - done);
    if (count == 0) break;
    done += count;
    if (done > most_bytes) {
      throw std::invalid_argument(fmt::format("is longer than {} bytes", most_bytes));
    }
  }
  text.resize(done);
  text.shrink_to_fit();
  return text;
}

void read_lines(const std::filesystem::path& path, std::uint64_t most_kept,
                const std::function<void(const FileLine&)>& use) {
  const FileDescriptor file = open_to_read(path, Pipes::kRefused);
  std::string chunk(kChunkBytes, '\0');
  OpenLine open;
  while (const std::size_t count = read_some(file, chunk.data(), chunk.size())) {
    std::string_view left(chunk.data(), count);
    for (std::size_t end = left.find('\n'); end != left.npos; end = left.find('\n')) {
      open.add(left.substr(0, end), most_kept);
      use(open.line(true));
      open.begin += open.bytes + 1;
      open.bytes = 0;
      open.kept.clear();
      left.remove_prefix(end + 1);
    }
    open.add(left, most_kept);
  }
  if (open.bytes > 0) use(open.line(false));
}

}  // namespace sparkbench
