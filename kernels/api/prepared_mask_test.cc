// That lists are made and copied once for each kind of launch, and that texts are kept.
#include "kernels/api/prepared_mask.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "kernels/registry.h"

namespace sparkbench {
namespace {

constexpr int kMaskRows = 300, kKeys = 400;

class PreparedMaskTest : public testing::Test {
 protected:
  std::shared_ptr<const PassLists> lists(Pass pass = Pass::kForward, bool is_deterministic = false,
                                         int device = 0) {
    return mask_.lists(*find_attention_kernel(kernel_), problem_, pass, is_deterministic, device,
                       [this](std::span<const std::byte> bytes) {
                         ++copies_;
                         return std::make_shared<const std::vector<std::byte>>(bytes.begin(),
                                                                               bytes.end());
                       });
  }
  void SetUp() override { mask_.give_to(problem_); }

  PreparedMask mask_{"window:64+causal-strided:16", kMaskRows, kKeys};
  Problem problem_{.heads = 2, .seqlen_q = kMaskRows, .seqlen_k = kKeys, .head_dim = 64};
  std::string_view kernel_ = "volta-fp32acc";
  std::atomic<int> copies_ = 0;
};

TEST_F(PreparedMaskTest, HasOneListForAllThatAskForIt) {
  std::vector<std::shared_ptr<const PassLists>> got(8);
  std::vector<std::thread> threads;
  for (auto& each : got) threads.emplace_back([&] { each = lists(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : got) EXPECT_EQ(each, got[0]);
  EXPECT_EQ(copies_, 1);
  problem_.batch = 7;  // lists do not depend on it, nor on heads
  problem_.heads = 9;
  EXPECT_EQ(lists(Pass::kForward, true), got[0]);
}

TEST_F(PreparedMaskTest, HasAListForEachKindOfLaunch) {
  std::vector<std::shared_ptr<const PassLists>> all = {lists(), lists(Pass::kBackward),
                                                       lists(Pass::kBackward, true),
                                                       lists(Pass::kForward, false, 1)};
  problem_.head_dim = 128;
  all.push_back(lists());
  problem_.dropout_p = 0.1f;
  all.push_back(lists());
  kernel_ = "volta-fp16acc";
  all.push_back(lists());
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]) << i << " " << j;
  }
  EXPECT_EQ(copies_, 7);
  EXPECT_EQ(all[2]->lists.size(), 2);  // of dK and dV, and of dQ
}

TEST_F(PreparedMaskTest, HasItsListsWhereTheyWereCopied) {
  const auto made = lists();
  const auto& bytes = *static_cast<const std::vector<std::byte>*>(made->memory.get());
  const SparseLists there = made->lists.at(0, bytes.data());
  const SparseTileLists& here = made->lists[0];
  ASSERT_EQ(there.blocks_of_head, here.blocks_of_head());
  for (int i = 0; i < there.blocks_of_head; ++i) {
    EXPECT_EQ(there.blocks[i].first_row, here.block(0, i).first_row);
    EXPECT_EQ(there.blocks[i].tiles, here.block(0, i).tiles);
  }
}

TEST_F(PreparedMaskTest, IsMadeAgainWhereACopyFailed) {
  const auto fail = [](std::span<const std::byte>) -> std::shared_ptr<const void> {
    throw std::runtime_error("no memory");
  };
  EXPECT_THROW(
      mask_.lists(*find_attention_kernel(kernel_), problem_, Pass::kForward, false, 0, fail),
      std::runtime_error);
  EXPECT_NE(lists(), nullptr);
}

TEST(MaskOfText, IsKeptUntilOthersTakeItsPlace) {
  const auto first = mask_of_text("strided:3", kMaskRows, kKeys);
  EXPECT_EQ(mask_of_text("strided:3", kMaskRows, kKeys), first);
  EXPECT_NE(mask_of_text("strided:3", kMaskRows, kKeys + 1), first);
  for (int i = 0; i < 70; ++i) mask_of_text("strided:" + std::to_string(i + 4), kMaskRows, kKeys);
  EXPECT_NE(mask_of_text("strided:3", kMaskRows, kKeys), first);
}

}  // namespace
}  // namespace sparkbench
