// Messages between the program and a worker, over a socket pair: a kind, a length, the bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace sparkbench
