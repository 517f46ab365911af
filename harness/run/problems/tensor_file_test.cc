#include "harness/run/problems/tensor_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "harness/run/problems/test_tensors.h"
#include "results/record/case_id.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

using Shape = std::vector<std::uint64_t>;

class TensorFileTest : public testing::Test {
 protected:
  std::string file_of(const std::vector<TestTensor>& tensors) {
    write_tensors(path_, tensors);
    return path_;
  }

  /// Why `name` cannot be read from a file with only `tensor`.
  std::string reason_of(const TestTensor& tensor, const std::string& name) {
    try {
      TensorFile file(file_of({tensor}));
      file.shape_of(name);
      file.read(name);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  }

  TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "in.safetensors").string();
};

std::vector<std::uint16_t> bits_of(const std::vector<Half>& values) {
  std::vector<std::uint16_t> bits;
  for (const Half value : values) bits.push_back(value.bits);
  return bits;
}

TEST_F(TensorFileTest, GivesEveryDtypeAsFp16) {
  const Shape shape = {1, 3, 1, 2};
  const std::vector<Half> halves = {{0x3c00}, {0xc000}, {0x0001}, {0x8000}, {0x7bff}, {0x3555}};
  const std::vector<float> floats = {1.0f,    -2.0f, 0x1p-24f, -0.0f, 1.0f + 0x1p-11f,
                                     65519.0f};  // a tie, and the largest in range
  TensorFile file(file_of({f16_tensor("q", shape, halves), f32_tensor("k", shape, floats),
                           bf16_tensor("v", shape, {1.0f, -2.5f, 0x1p-24f, -0.0f, 384.0f, 3.0f})}));
  EXPECT_EQ(bits_of(file.read("q")), bits_of(halves));
  EXPECT_EQ(bits_of(file.read("k")),
            (std::vector<std::uint16_t>{0x3c00, 0xc000, 0x0001, 0x8000, 0x3c00, 0x7bff}));
  EXPECT_EQ(bits_of(file.read("v")),
            (std::vector<std::uint16_t>{0x3c00, 0xc100, 0x0001, 0x8000, 0x5e00, 0x4200}));
  EXPECT_EQ(file.shape_of("v"), (TensorShape{1, 3, 1, 2}));
  EXPECT_EQ(file.vanished("q"), 0u);
  EXPECT_TRUE(file.has("q"));
  EXPECT_FALSE(file.has("d_o"));
}

TEST_F(TensorFileTest, CountsAndLocatesValuesBeyondFp16) {
  const Shape shape = {1, 2, 1, 2};
  EXPECT_EQ(reason_of(f32_tensor("q", shape, {0.0f, 1.0f, 65520.0f, -1e30f}), "q"),
            "tensor 'q': 2 of 4 values are not finite in fp16, whose largest number is 65504; the "
            "first is 65520 at [0, 1, 0, 0]");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(reason_of(f32_tensor("q", shape, {0.0f, nan, 0.0f, 0.0f}), "q"),
            "tensor 'q': 1 of 4 values are not finite in fp16, whose largest number is 65504; the "
            "first is nan at [0, 0, 0, 1]");
  EXPECT_EQ(reason_of(f16_tensor("q", shape, {{0}, {0}, {0}, {0xfc00}}), "q"),
            "tensor 'q': 1 of 4 values are not finite in fp16, whose largest number is 65504; the "
            "first is -inf at [0, 1, 0, 1]");
  EXPECT_EQ(reason_of(bf16_tensor("q", shape, {0.0f, 0.0f, 0.0f, 65536.0f}), "q"),
            "tensor 'q': 1 of 4 values are not finite in fp16, whose largest number is 65504; the "
            "first is 65536 at [0, 1, 0, 1]");
}

TEST_F(TensorFileTest, CountsValuesThatBecomeZero) {
  TensorFile file(
      file_of({f32_tensor("q", {1, 1, 1, 4}, {0.0f, 0x1p-25f, -0x1p-30f, 0x1.8p-25f})}));
  EXPECT_EQ(bits_of(file.read("q")), (std::vector<std::uint16_t>{0, 0, 0x8000, 1}));
  EXPECT_EQ(file.vanished("q"), 2u);
}

TEST_F(TensorFileTest, RefusesOtherDtypesShapesAndNames) {
  EXPECT_EQ(reason_of({"q", "F64", {1, 1, 1, 1}, std::string(8, '\0')}, "q"),
            "tensor 'q' is F64; F16, BF16 and F32 are taken");
  EXPECT_EQ(
      reason_of(f32_tensor("q", {1, 2}, {0.0f, 0.0f}), "q"),
      "tensor 'q' is [1, 2]; needs [batch, seqlen, heads, head_dim], each from 1 to 16777216");
  EXPECT_EQ(reason_of(f32_tensor("q", {1, 0, 1, 1}, {}), "q"),
            "tensor 'q' is [1, 0, 1, 1]; needs [batch, seqlen, heads, head_dim], each from 1 to "
            "16777216");
  EXPECT_EQ(reason_of({"x", "U8", {16777217, 1, 1, 0}, ""}, "q"), "has no tensor 'q'; it has 'x'");
}

TEST_F(TensorFileTest, HashesTheWholeFile) {
  TensorFile file(file_of({{"x", "U8", {3 << 20}, std::string(3 << 20, 'x')}}));
  std::ifstream stream(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(file.hash(), to_hex(fnv1a(bytes)));
}

TEST_F(TensorFileTest, SaysWhyAFileCannotBeRead) {
  const auto reason = [](const std::string& path) -> std::string {
    try {
      TensorFile file(path);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(reason(folder_.path().string()), "is a folder");
  EXPECT_EQ(reason(path_), "cannot be read (No such file or directory)");
  write_file(path_, "no tensors");
  EXPECT_NE(reason(path_), "none");
}

}  // namespace
}  // namespace sparkbench
