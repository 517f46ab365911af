#include "harness/cli/python_script.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/base/files/file_descriptor.h"

namespace sparkbench {
namespace {

constexpr int kNotStarted = 127;  // as in a shell

/// Reads until the other end is closed.
std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t count = read(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Started {
  pid_t child = 0;
  int error = 0;  // an errno
};

/// With `errors` as its error stream, which is closed here on return.
Started start(std::vector<std::string>& words, FileDescriptor errors) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  Started started;
  started.error =
      posix_spawnp(&started.child, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return started;
}

}  // namespace

std::filesystem::path project_script(const std::string& path) {
  return std::filesystem::path(SPARKBENCH_SOURCES) / path;
}

ScriptEnd run_python(const std::filesystem::path& script, std::span<const std::string> arguments) {
  std::vector<std::string> words = {"python3", script.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_command(std::move(words));
}

ScriptEnd run_command(std::vector<std::string> words) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {kNotStarted, "no pipe"};
  const FileDescriptor ours(ends[0]);
  const auto [child, error] = start(words, FileDescriptor(ends[1]));
  if (error != 0) return {kNotStarted, words[0] + ": " + std::generic_category().message(error)};
  const std::string said = read_all(ours.get());
  return {wait_for(child), last_line(said)};
}

ScratchFile::ScratchFile(const std::string& suffix)
    : path_((std::filesystem::temp_directory_path() / ("sparkbench-XXXXXX" + suffix)).string()) {
  const FileDescriptor made(mkstemps(path_.data(), static_cast<int>(suffix.size())));
  if (made.get() < 0) {
    throw std::system_error(errno, std::generic_category(), "a temporary file " + path_);
  }
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace sparkbench
