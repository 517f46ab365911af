#include "harness/model/sass/child_process.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "harness/model/sass/text_lines.h"
#include "kernels/base/files/file_descriptor.h"

namespace sparkbench {
namespace {

/// A file in memory that a child may fill without anybody reading meanwhile.
class Capture {
 public:
  Capture() : file_(memfd_create("output", MFD_CLOEXEC)) {
    if (!file_.is_open()) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }

  int descriptor() const { return file_.get(); }

  std::string text() const {
    std::string text(static_cast<std::size_t>(lseek(file_.get(), 0, SEEK_END)), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t read =
          pread(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
      if (read <= 0) throw std::system_error(errno, std::generic_category(), "reading output");
      done += static_cast<std::size_t>(read);
    }
    return text;
  }

 private:
  FileDescriptor file_;
};

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void redirect(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// This process's environment, with `folder` first on PATH.
std::vector<std::string> environment_with(const std::filesystem::path& folder) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("PATH=")) variables.emplace_back(*variable);
  }
  const char* const path = std::getenv("PATH");
  variables.push_back("PATH=" + folder.string());
  if (path != nullptr) variables.back().append(":").append(path);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildOutput run_child(const std::filesystem::path& program,
                      const std::vector<std::string>& arguments) {
  const Capture out, err;
  SpawnActions actions;
  actions.redirect(out.descriptor(), STDOUT_FILENO);
  actions.redirect(err.descriptor(), STDERR_FILENO);
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables =
      environment_with(std::filesystem::absolute(program).parent_path());
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), actions.get(), nullptr,
                                pointers(words).data(), pointers(variables).data());
  if (error != 0) throw std::system_error(error, std::generic_category(), program.string());
  const int exit_status = wait_for(child);
  return {exit_status, out.text(), err.text()};
}

std::filesystem::path find_on_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "", ':')) {
    // A shell takes an empty element for the current folder, which may be anybody's.
    if (folder.empty()) continue;
    std::filesystem::path candidate = std::filesystem::path(folder) / name;
    if (!std::filesystem::is_directory(candidate) && access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

}  // namespace sparkbench
