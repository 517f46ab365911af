#include "harness/run/workers/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "harness/environment_error.h"

namespace sparkbench {
namespace {

using Length = std::uint64_t;  // in this machine's byte order; both ends are on it
constexpr std::size_t kHeadBytes = 1 + sizeof(Length);

}  // namespace

bool send_message(int socket, MessageKind kind, std::string_view text) {
  const Length length = text.size();
  std::string bytes(kHeadBytes, static_cast<char>(kind));
  std::memcpy(&bytes[1], &length, sizeof(length));
  bytes += text;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket, &bytes[sent], bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool MessageReader::read_from(int socket, bool waits) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t count = recv(socket, buffer.data(), buffer.size(), waits ? 0 : MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) return false;
    bytes_.append(buffer.data(), static_cast<std::size_t>(count));
    waits = false;
  }
}

std::optional<Message> MessageReader::next() {
  Length length = 0;
  if (bytes_.size() < kHeadBytes) return std::nullopt;
  std::memcpy(&length, &bytes_[1], sizeof(length));
  if (bytes_.size() - kHeadBytes < length) return std::nullopt;
  Message message{static_cast<MessageKind>(bytes_[0]), bytes_.substr(kHeadBytes, length)};
  bytes_.erase(0, kHeadBytes + length);
  return message;
}

namespace {

/// The last bytes of a worker's output that are kept.
constexpr std::size_t kKeptBytes = 2000;

/// How long a worker whose channel has ended may take to end too.
constexpr auto kEndPatience = std::chrono::seconds(2);

[[noreturn]] void fail(const char* what, int error) {
  throw EnvironmentError(
      fmt::format("a worker process cannot be started: {}: {}", what, std::strerror(error)));
}

/// "SIGSEGV (Segmentation fault)"
std::string name_of_signal(int signal) {
  const char* const abbreviation = sigabbrev_np(signal);
  if (abbreviation == nullptr) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", abbreviation, sigdescr_np(signal));
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return "was killed by " + name_of_signal(WTERMSIG(status));
  return fmt::format("ended with exit status {}", WEXITSTATUS(status));
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

namespace {

pid_t spawn(const std::filesystem::path& executable, std::vector<std::string> argv, int channel,
            int errors) {
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), errors, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), errors, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), channel, kWorkerSocket);
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, executable.c_str(), actions.get(), nullptr, words.data(), environ);
  if (error != 0) fail(executable.c_str(), error);
  return pid;
}

}  // namespace

WorkerProcess::Ends WorkerProcess::open_channel() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail("socketpair", errno);
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

WorkerProcess::Ends WorkerProcess::open_error_stream() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe", errno);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

WorkerProcess::WorkerProcess(const std::filesystem::path& executable,
                             const std::vector<std::string>& argv)
    : WorkerProcess(executable, argv, open_channel(), open_error_stream()) {}

WorkerProcess::WorkerProcess(const std::filesystem::path& executable,
                             const std::vector<std::string>& argv, Ends channel, Ends errors)
    : socket_(std::move(channel.ours)),
      errors_(std::move(errors.ours)),
      pid_(spawn(executable, argv, channel.theirs.get(), errors.theirs.get())) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

bool WorkerProcess::send_case(std::size_t position) const {
  return send_message(socket_.get(), MessageKind::kCase, std::to_string(position));
}

void WorkerProcess::read_errors() {
  std::array<char, 4096> buffer;
  ssize_t count = 0;
  while ((count = read(errors_.get(), buffer.data(), buffer.size())) > 0) {
    printed_.append(buffer.data(), static_cast<std::size_t>(count));
    if (printed_.size() > kKeptBytes) printed_.erase(0, printed_.size() - kKeptBytes);
  }
}

std::string WorkerProcess::take_errors() {
  read_errors();
  std::string text = std::exchange(printed_, "");
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

std::string WorkerProcess::describe_end() {
  const auto deadline = std::chrono::steady_clock::now() + kEndPatience;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid_, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
  // Nothing can report a child's exit status while SIGCHLD is ignored.
  return ended < 0 ? "ended, the system does not say how" : describe_status(status);
}

}  // namespace sparkbench
