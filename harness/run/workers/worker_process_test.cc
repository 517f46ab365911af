#include "harness/run/workers/worker_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "kernels/base/files/file_descriptor.h"

namespace sparkbench {
namespace {

struct Channel {
  Channel() : Channel(open()) {}
  FileDescriptor a, b;

 private:
  static std::array<int, 2> open() {
    std::array<int, 2> ends;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
    return ends;
  }
  explicit Channel(std::array<int, 2> ends) : a(ends[0]), b(ends[1]) {}
};

TEST(WorkerChannel, DeliversMessagesWholeAndInOrder) {
  const Channel channel;
  ASSERT_TRUE(send_message(channel.a.get(), MessageKind::kCase, "17"));
  ASSERT_TRUE(send_message(channel.a.get(), MessageKind::kRecord, ""));
  MessageReader reader;
  ASSERT_TRUE(reader.read_from(channel.b.get(), true));
  EXPECT_EQ(reader.next().value().text, "17");
  EXPECT_EQ(reader.next().value().kind, MessageKind::kRecord);
  EXPECT_FALSE(reader.next().has_value());
}

TEST(WorkerChannel, DeliversMoreThanASocketHolds) {
  const Channel channel;
  const std::string large(std::size_t{10} << 20, 'x');
  std::thread sender([&] { send_message(channel.a.get(), MessageKind::kPlan, large); });
  MessageReader reader;
  std::optional<Message> message;
  while (!(message = reader.next())) ASSERT_TRUE(reader.read_from(channel.b.get(), true));
  sender.join();
  EXPECT_TRUE(message->text == large);
}

TEST(WorkerChannel, DoesNotWaitUnlessTold) {
  const Channel channel;
  MessageReader reader;
  EXPECT_TRUE(reader.read_from(channel.b.get(), false));
  EXPECT_FALSE(reader.next().has_value());
}

TEST(WorkerChannel, KeepsTornMessagesBackAndTellsTheEnd) {
  MessageReader reader;
  const Channel channel;
  ASSERT_EQ(send(channel.a.get(), "R\x05\0\0\0\0\0\0\0ab", 11, 0), 11);
  shutdown(channel.a.get(), SHUT_WR);
  EXPECT_FALSE(reader.read_from(channel.b.get(), true));
  EXPECT_FALSE(reader.next().has_value());
}

TEST(WorkerChannel, SaysWhenTheOtherEndIsGone) {
  const Channel channel;
  shutdown(channel.b.get(), SHUT_RDWR);
  EXPECT_FALSE(send_message(channel.a.get(), MessageKind::kCase, "1"));
}

}  // namespace
}  // namespace sparkbench
