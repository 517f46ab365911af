#include "kernels/tile/chunked_view.h"

#include <gtest/gtest.h>

#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

alignas(16) Half memory[64];

TEST(ChunkedView, FindsTheRowsOfAStridedTensor) {
  const TensorView<Half> view{memory, 3 * 5 * 64, 64, 5 * 64};
  const auto chunked = chunked_view("q", view, 2, 5, 3, 32);
  for (int b = 0; b < 2; ++b) {
    for (int s = 0; s < 5; ++s) {
      for (int h = 0; h < 3; ++h) EXPECT_EQ(chunked.at(b, s, h), view.row(b, s, h));
    }
  }
  EXPECT_EQ(chunked.row_stride(), 64);
}

std::string why_refused(const TensorView<Half>& view, int seqlen = 4) {
  return message_of<std::invalid_argument>([&] { chunked_view("v", view, 2, seqlen, 2, 64); });
}

TEST(ChunkedView, RefusesWhat32BitsCannotAddress) {
  const std::int64_t row = std::int64_t{1} << 30;
  EXPECT_EQ(why_refused({memory, 0, row, 64}, 40), "tensor v spans 64 GiB or more");
  EXPECT_EQ(why_refused({memory, 0, 2 * row, 64}), "tensor v has rows 4 GiB or more apart");
  EXPECT_EQ(why_refused({memory, -8, 64, 64}), "tensor v has a negative stride");
  EXPECT_EQ(why_refused({memory, 0, 68, 64}),
            "tensor v has a stride that is no multiple of 16 bytes");
}

TEST(ChunkedView, TakesAnyStrideOfASingleRow) {
  EXPECT_EQ(why_refused({memory, 512, 3, 64}, 1), "");
}

}  // namespace
}  // namespace sparkbench
