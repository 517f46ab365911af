#include "harness/run/problems/own_tensors.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "harness/run/problems/test_tensors.h"
#include "results/store/test_folder.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Shape = std::vector<std::uint64_t>;

TestTensor ones(const std::string& name, const Shape& shape) {
  const std::uint64_t elements = shape[0] * shape[1] * shape[2] * shape[3];
  return f16_tensor(name, shape, std::vector<Half>(elements, to_half(1.0f)));
}

class OwnTensorsTest : public testing::Test {
 protected:
  OwnTensors read(const std::vector<TestTensor>& tensors) {
    write_tensors(path_, tensors);
    return read_own_tensors(path_);
  }

  void expect_refused(const std::vector<TestTensor>& tensors, const std::string& reason) {
    try {
      read(tensors);
      ADD_FAILURE() << "accepted, not refused with: " << reason;
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "--tensors: '" + path_ + "': " + reason);
    }
  }

  TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "in.safetensors").string();
};

TEST_F(OwnTensorsTest, MakeAProblemOfTheirShape) {
  const OwnTensors own = read({ones("q", {2, 3, 2, 8}),
                               ones("k", {2, 4, 2, 8}),
                               ones("v", {2, 4, 2, 8}),
                               ones("d_o", {2, 3, 2, 8}),
                               {"mask", "BOOL", {3}, "abc"}});
  EXPECT_EQ(own.path, path_);
  EXPECT_EQ(own.shape.batch, 2);
  EXPECT_EQ(own.shape.seqlen_q, 3);
  EXPECT_EQ(own.shape.seqlen_k, 4);
  EXPECT_EQ(own.shape.heads, 2);
  EXPECT_EQ(own.shape.head_dim, 8);
  EXPECT_EQ(own.inputs.q.size(), own.shape.q_elements());
  EXPECT_EQ(own.inputs.k.size(), own.shape.k_elements());
  EXPECT_EQ(own.inputs.v.size(), own.shape.k_elements());
  EXPECT_EQ(own.d_o.size(), own.shape.q_elements());
  EXPECT_EQ(own.hash.size(), 16u);
  EXPECT_TRUE(own.warnings.empty());
}

TEST_F(OwnTensorsTest, MayHaveFewerHeadsOfKeys) {
  const OwnTensors own =
      read({ones("q", {2, 7, 6, 8}), ones("k", {2, 9, 2, 8}), ones("v", {2, 9, 2, 8})});
  EXPECT_EQ(own.shape.heads, 6);
  EXPECT_EQ(own.shape.heads_k, 2);
  EXPECT_EQ(own.inputs.k.size(), own.shape.k_elements());
  EXPECT_TRUE(own.warnings.empty());
}

TEST_F(OwnTensorsTest, MayLackTheGradient) {
  EXPECT_TRUE(read({ones("q", {1, 1, 1, 8}), ones("k", {1, 1, 1, 8}), ones("v", {1, 1, 1, 8})})
                  .d_o.empty());
}

TEST_F(OwnTensorsTest, AreWarnedOf) {
  const Shape shape = {1, 2, 3, 1};
  const OwnTensors own = read({f32_tensor("q", shape, {1, 1, 1, 1, 1, 0x1p-30f}),
                               f32_tensor("k", shape, {1, 1, 1, 1, 1, 0x1p-20f}), ones("v", shape),
                               f16_tensor("d_o", shape, std::vector<Half>(6))});
  std::vector<std::string> codes;
  for (const Warning& warning : own.warnings) codes.push_back(warning.code);
  EXPECT_EQ(codes, std::vector<std::string>(
                       {"W-TRANSPOSED", "W-INPUT-UNDERFLOW", "W-INPUT-SUBNORMAL", "W-INPUT-ZERO"}));
}

TEST_F(OwnTensorsTest, MustAgree) {
  const TestTensor q = ones("q", {2, 3, 4, 8}), k = ones("k", {2, 5, 4, 8}),
                   v = ones("v", {2, 5, 4, 8});
  expect_refused({q, ones("k", {2, 5, 3, 8}), ones("v", {2, 5, 3, 8})},
                 "tensor 'k' has 3 heads, 'q' has 4; those of k must divide those of q");
  expect_refused({q, ones("k", {2, 5, 8, 8}), ones("v", {2, 5, 8, 8})},
                 "tensor 'k' has 8 heads, 'q' has 4; those of k must divide those of q");
  expect_refused(
      {ones("q", {2, 2, 65, 8}), ones("k", {2, 2, 40, 8}), v},
      "tensor 'k' has 40 heads, 'q' has 65; those of k must divide those of q: are these "
      "[batch, heads, seqlen, head_dim]? Then save x.transpose(1, 2)");
  expect_refused({q, ones("k", {1, 5, 4, 8}), v},
                 "tensor 'k' is [1, 5, 4, 8], 'q' is [2, 3, 4, 8]; they may differ in length and "
                 "heads alone");
  expect_refused({q, ones("k", {2, 5, 4, 16}), v},
                 "tensor 'k' is [2, 5, 4, 16], 'q' is [2, 3, 4, 8]; they may differ in length and "
                 "heads alone");
  expect_refused({q, k, ones("v", {2, 5, 4, 16})},
                 "tensor 'v' is [2, 5, 4, 16], 'k' is [2, 5, 4, 8]; their shapes must be equal");
  expect_refused({q, k, v, ones("d_o", {2, 5, 4, 8})},
                 "tensor 'd_o' is [2, 5, 4, 8], 'q' is [2, 3, 4, 8]; their shapes must be equal");
  expect_refused({q, k}, "has no tensor 'v'; it has 'k', 'q'");
}

TEST_F(OwnTensorsTest, OfAFileThatLiesAreRefused) {
  write_file(path_, std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10));
  EXPECT_THROW(read_own_tensors(path_), UsageError);
}

TEST_F(OwnTensorsTest, AreNotReadWhenMemoryIsTooSmall) {
  write_tensors(path_,
                {ones("q", {1, 64, 2, 8}), ones("k", {1, 64, 2, 8}), ones("v", {1, 64, 2, 8})});
  const std::uint64_t elements = 1 * 64 * 2 * 8;
  const std::uint64_t needed = 3 * 2 * elements + (2 + 4) * elements;
  EXPECT_EQ(read_own_tensors(path_, needed).shape.seqlen_q, 64);
  try {
    read_own_tensors(path_, needed - 1);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("reading its tensors takes 12.0 KiB of memory"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sparkbench
