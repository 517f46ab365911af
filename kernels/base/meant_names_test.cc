#include "kernels/base/meant_names.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

using Names = std::vector<std::string>;

const Names kernels = {"unfused-fp16", "volta-fp16acc", "volta-fp32acc"};
const Names flags = {"--headdim", "--heads", "--seqlen", "--seqlen-k", "--min-samples"};

TEST(MeantNames, KnowsTheWordsOfOtherPrograms) {
  const Names passes = {"fwd", "bwd", "fwd+bwd"};
  EXPECT_EQ(meant_names("backward", passes), Names{"bwd"});
  EXPECT_EQ(meant_names("Forward", passes), Names{"fwd"});
  EXPECT_EQ(meant_names("sliding_window", Names{"full", "window"}), Names{"window"});
  EXPECT_EQ(meant_names("--num-heads", flags), Names{"--heads"});
  EXPECT_EQ(meant_names("--head_dim", flags), Names{"--headdim"});
  EXPECT_EQ(meant_names("--iterations", flags), Names{"--min-samples"});
}

TEST(MeantNames, KnowsTheNamesOfKernelsThatThereWere) {
  EXPECT_EQ(meant_names("volta-fp16acc-o16", kernels), Names{"volta-fp16acc"});
  EXPECT_EQ(meant_names("volta-mixedacc", kernels), Names{"volta-fp32acc"});
}

TEST(MeantNames, KnowsAPartOfAName) {
  EXPECT_EQ(meant_names("volta", kernels), Names({"volta-fp16acc", "volta-fp32acc"}));
  EXPECT_EQ(meant_names("fp32acc", kernels), Names{"volta-fp32acc"});
  EXPECT_EQ(meant_names("v100", Names{"auto", "emulated-v100"}), Names{"emulated-v100"});
  EXPECT_EQ(meant_names("--seq", flags), Names({"--seqlen", "--seqlen-k"}));
  EXPECT_EQ(meant_names("f", kernels), Names{}) << "too short";
}

TEST(MeantNames, KnowsASlip) {
  EXPECT_EQ(meant_names("volta-fp32ac", kernels), Names{"volta-fp32acc"});
  EXPECT_EQ(meant_names("--sequlen", flags), Names{"--seqlen"});
  EXPECT_EQ(meant_names("causal-", Names{"causal-window", "causal"}), Names{"causal"});
  EXPECT_EQ(meant_names("flash", kernels), Names{});
  EXPECT_EQ(meant_names("", kernels), Names{});
}

TEST(MeantNames, AreNamedInASentence) {
  EXPECT_EQ(did_you_mean(Names{}), "");
  EXPECT_EQ(did_you_mean(Names{"a"}), ", did you mean 'a'?");
  EXPECT_EQ(did_you_mean(Names{"a", "b"}), ", did you mean 'a' or 'b'?");
}

}  // namespace
}  // namespace sparkbench
