// A worker from its parent's side: a child process, a channel to it, and its output.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/run/workers/worker_channel.h"
#include "kernels/files/file_descriptor.h"

namespace sparkbench {

class WorkerProcess {
 public:
  /// Starts `executable` with `argv`. Throws EnvironmentError.
  WorkerProcess(const std::filesystem::path& executable, const std::vector<std::string>& argv);
  /// Kills it in any state.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int socket() const { return socket_.get(); }
  int error_stream() const { return errors_.get(); }

  bool send_case(std::size_t position) const;
  /// Reads what has arrived, without waiting. False if the channel has ended.
  bool receive() { return reader_.read_from(socket_.get(), false); }
  std::optional<Message> next_message() { return reader_.next(); }

  /// Reads its output, without waiting.
  void read_errors();
  /// The last lines of output since the previous call.
  std::string take_errors();

  /// Kills it unless it ends by itself within a moment, and describes its end: "was killed by
  /// SIGSEGV (Segmentation fault)", "ended with exit status 3".
  std::string describe_end();

 private:
  /// The two ends of a channel.
  struct Ends {
    FileDescriptor ours, theirs;
  };
  static Ends open_channel();
  static Ends open_error_stream();

  WorkerProcess(const std::filesystem::path& executable, const std::vector<std::string>& argv,
                Ends channel, Ends errors);

  FileDescriptor socket_, errors_;
  pid_t pid_;
  MessageReader reader_;
  std::string printed_;
};

}  // namespace sparkbench
