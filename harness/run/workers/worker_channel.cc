#include "harness/run/workers/worker_channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

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

}  // namespace sparkbench
