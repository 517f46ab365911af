// A worker as its parent sees it: a child process, a channel to it, and what it prints.
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
  /// Kills it, whatever it does.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int socket() const { return socket_.get(); }
  int error_stream() const { return errors_.get(); }

  bool send_case(std::size_t position) const;
  /// Reads what came, without waiting. False when nothing can come any more: it has ended.
  bool receive() { return reader_.read_from(socket_.get(), false); }
  std::optional<Message> next_message() { return reader_.next(); }

  /// Reads what was printed, without waiting.
  void read_errors();
  /// The last lines printed since this was last asked.
  std::string take_errors();

  /// Kills it, if it has not ended by itself within a moment, and says how it ended: "was killed by
  /// SIGSEGV (Segmentation fault)", "ended with exit status 3".
  std::string describe_end();

 private:
  /// Two ends of a channel: ours, and the worker's.
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
