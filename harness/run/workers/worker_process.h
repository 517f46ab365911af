// A worker as its parent sees it: a child process, what it prints, and the channel to it. Messages
// go over a socket pair: a kind, a length, the bytes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/files/file_descriptor.h"

namespace sparkbench {

enum class MessageKind : char {
  kPlan = 'P',    // from the worker, first: its plan, as in run_to_json()
  kRefuse = 'E',  // or: an exit code in decimal, a newline, and why there is no plan
  kCase = 'C',    // to the worker: a position of the plan, in decimal
  kRecord = 'R',  // from the worker: the case's record, as in case_to_json()
};

struct Message {
  MessageKind kind;
  std::string text;
};

/// The descriptor of the worker's end of the channel.
inline constexpr int kWorkerSocket = 3;

/// False if the other end is closed.
bool send_message(int socket, MessageKind kind, std::string_view text);

class MessageReader {
 public:
  /// Reads the available bytes; if `waits`, at least one. False if the channel has ended.
  bool read_from(int socket, bool waits);

  /// The next complete message.
  std::optional<Message> next();

 private:
  std::string bytes_;
};

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
