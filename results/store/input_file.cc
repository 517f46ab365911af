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

}  // namespace

std::string read_file(const std::filesystem::path& path, Pipes pipes, std::uint64_t most_bytes) {
  constexpr std::size_t kChunkBytes = 1 << 20;
  require_kind(path, pipes);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) reject_by_errno();
  std::string text;
  std::size_t done = 0;
  while (true) {
    if (text.size() < done + kChunkBytes) text.resize(std::max(2 * done, done + kChunkBytes));
    const ssize_t count = read(file.get(), &text[done], text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) reject_by_errno();
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
    if (done > most_bytes) {
      throw std::invalid_argument(fmt::format("is longer than {} bytes", most_bytes));
    }
  }
  text.resize(done);
  text.shrink_to_fit();
  return text;
}

}  // namespace sparkbench
