#include "kernels/base/files/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "kernels/base/files/file_descriptor.h"

namespace sparkbench {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;

constexpr int kWriterPatienceMs = 2000, kDataPatienceMs = 60000;

[[noreturn]] void reject_by_errno() {
  throw std::invalid_argument(std::string("cannot be read (") + std::strerror(errno) + ")");
}

/// A file that is open to be read, without waiting.
struct OpenFile {
  FileDescriptor descriptor;
  std::uint64_t bytes;  // as far as is known
  bool is_pipe;
};

/// Neither open() nor read() waits, not even for the writer of a pipe.
OpenFile open_to_read(const std::filesystem::path& path, Pipes pipes) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) reject_by_errno();
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) reject_by_errno();
  if (S_ISDIR(status.st_mode)) throw std::invalid_argument("is a folder");
  const bool is_pipe = S_ISFIFO(status.st_mode);
  if (!is_pipe && !S_ISREG(status.st_mode)) throw std::invalid_argument("is no regular file");
  if (is_pipe && pipes == Pipes::kRefused) {
    throw std::invalid_argument("is a pipe, no regular file");
  }
  return {std::move(file), static_cast<std::uint64_t>(status.st_size), is_pipe};
}

/// Whether a pipe has data or its end; false as long as a writer, or none, says nothing.
bool says_something(const OpenFile& pipe, int patience_ms) {
  pollfd stream{pipe.descriptor.get(), POLLIN, 0};
  return poll(&stream, 1, patience_ms) != 0;
}

/// 0 at the end of the file.
std::size_t read_some(const OpenFile& file, char* to, std::size_t bytes) {
  while (true) {
    const ssize_t count = read(file.descriptor.get(), to, bytes);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (file.is_pipe && errno == EAGAIN) {
      if (!says_something(file, kDataPatienceMs)) {
        throw std::invalid_argument("is a pipe whose writer has written nothing for a minute");
      }
    } else if (errno != EINTR) {
      reject_by_errno();
    }
  }
}

[[noreturn]] void reject_length(std::uint64_t most_bytes) {
  throw std::invalid_argument("is longer than " + std::to_string(most_bytes) + " bytes");
}

/// The line that is being read.
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
  const OpenFile file = open_to_read(path, pipes);
  if (file.bytes > most_bytes) reject_length(most_bytes);
  // Without a writer read() gives the end of the file: one that is about to come is waited for.
  const bool may_lack_writer = file.is_pipe && !says_something(file, kWriterPatienceMs);
  std::string text;
  std::size_t done = 0;
  while (true) {
    if (text.size() < done + kChunkBytes) text.resize(std::max(2 * done, done + kChunkBytes));
    const std::size_t count = read_some(file, &text[done], text.size() - done);
    if (count == 0) break;
    done += count;
    if (done > most_bytes) reject_length(most_bytes);
  }
  if (done == 0 && may_lack_writer) throw std::invalid_argument("is a pipe that nobody writes to");
  text.resize(done);
  text.shrink_to_fit();
  return text;
}

void require_regular_file(const std::filesystem::path& path) {
  open_to_read(path, Pipes::kRefused);
}

void read_lines(const std::filesystem::path& path, std::uint64_t most_kept,
                const std::function<void(const FileLine&)>& use) {
  const OpenFile file = open_to_read(path, Pipes::kRefused);
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
