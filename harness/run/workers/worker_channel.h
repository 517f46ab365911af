// Messages between the program and a worker, over a socket pair: a kind, a length, the bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sparkbench {

enum class MessageKind : char {
  kPlan = 'P',    // from the worker, first: its plan, as run_to_json() writes it
  kRefuse = 'E',  // or: an exit code in decimal, a newline, and why there is no plan
  kCase = 'C',    // to the worker: a position of the plan, in decimal
  kRecord = 'R',  // from the worker: what came of it, as case_to_json() writes it
};

struct Message {
  MessageKind kind;
  std::string text;
};

/// The descriptor at which a worker finds its end of the channel.
inline constexpr int kWorkerSocket = 3;

/// False when the other end is gone.
bool send_message(int socket, MessageKind kind, std::string_view text);

class MessageReader {
 public:
  /// Reads what there is, and if `waits`, at least one byte. False when nothing can come any more.
  bool read_from(int socket, bool waits);

  /// The next message that is whole; a torn one never is.
  std::optional<Message> next();

 private:
  std::string bytes_;
};

}  // namespace sparkbench
