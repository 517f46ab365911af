#include "harness/encoder/own_layer.h"

#include <gtest/gtest.h>

#include "harness/run/problems/test_tensors.h"
#include "kernels/testing/messages.h"
#include "results/store/test_folder.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr int kSeqlen = 3;
const LayerShape small_shape{.hidden = 16, .ffn = 24};

/// A layer's tensors, in a file's form.
std::vector<TestTensor> file_tensors(bool has_bias = true) {
  LayerTensors values = make_layer_tensors(small_shape, kSeqlen, 1);
  std::vector<TestTensor> tensors;
  for (const NamedTensor& tensor : named_tensors(small_shape, kSeqlen)) {
    if (tensor.is_of_bias && !has_bias) continue;
    tensors.push_back(f16_tensor(std::string(tensor.name), tensor.shape, tensor.of(values)));
  }
  return tensors;
}

class OwnLayerFile : public testing::Test {
 protected:
  std::string write(const std::vector<TestTensor>& tensors) {
    write_tensors(folder_.path() / "layer.safetensors", tensors);
    return (folder_.path() / "layer.safetensors").string();
  }
  std::string refusal_of(const std::vector<TestTensor>& tensors) {
    return message_of<UsageError>([&] { read_own_layer(write(tensors)); });
  }
  /// All but the tensor of that name, plus `other` if it has a name.
  std::vector<TestTensor> with(const std::string& name, const TestTensor& other) {
    std::vector<TestTensor> tensors = file_tensors();
    std::erase_if(tensors, [&](const TestTensor& tensor) { return tensor.name == name; });
    if (!other.name.empty()) tensors.push_back(other);
    return tensors;
  }

  TemporaryFolder folder_;
};

TEST_F(OwnLayerFile, HasTheLayerThatWasSaved) {
  const OwnLayer layer = read_own_layer(write(file_tensors()));
  EXPECT_EQ(layer.shape.hidden, 16);
  EXPECT_EQ(layer.shape.ffn, 24);
  EXPECT_TRUE(layer.shape.bias);
  EXPECT_EQ(layer.seqlen, kSeqlen);
  EXPECT_EQ(layer.batch, 1);
  EXPECT_EQ(layer.hash.size(), 16u);
  const LayerTensors saved = make_layer_tensors(small_shape, kSeqlen, 1);
  EXPECT_EQ(bytes_of(layer.tensors.weights.w_2), bytes_of(saved.weights.w_2));
  EXPECT_EQ(bytes_of(layer.tensors.d_y), bytes_of(saved.d_y));
}

TEST_F(OwnLayerFile, MayLackBiasesAndTheGradient) {
  std::vector<TestTensor> tensors = file_tensors(false);
  std::erase_if(tensors, [](const TestTensor& tensor) { return tensor.name == "d_y"; });
  const OwnLayer layer = read_own_layer(write(tensors));
  EXPECT_FALSE(layer.shape.bias);
  EXPECT_TRUE(layer.tensors.d_y.empty());
  EXPECT_EQ(layer.tensors.weights.b_1.size(), 24u);
}

TEST_F(OwnLayerFile, HasTheFirstSequenceOfABatch) {
  const std::vector<Half> x(2 * 5 * 16, Half{0x3c00});
  std::vector<TestTensor> tensors = with("x", f16_tensor("x", {2, 5, 16}, x));
  std::erase_if(tensors, [](const TestTensor& tensor) { return tensor.name == "d_y"; });
  const OwnLayer layer = read_own_layer(write(tensors));
  EXPECT_EQ(layer.batch, 2);
  EXPECT_EQ(layer.seqlen, 5);
  EXPECT_EQ(layer.tensors.x.size(), 5u * 16);
}

TEST_F(OwnLayerFile, IsRefusedWithTheTensorsName) {
  const std::string missing = refusal_of(with("gamma_2", {}));
  EXPECT_NE(missing.find("has no tensor 'gamma_2'; it has"), std::string::npos) << missing;
  const std::string one_bias = refusal_of(with("b_o", {}));
  EXPECT_NE(one_bias.find("has no tensor 'b_o'"), std::string::npos) << one_bias;
  const std::string odd =
      refusal_of(with("w_o", f16_tensor("w_o", {8, 16}, std::vector<Half>(128))));
  EXPECT_NE(odd.find("tensor 'w_o' is [8, 16]; needs [16, 16]"), std::string::npos) << odd;
  const std::string input = refusal_of(with("x", f16_tensor("x", {3, 8}, std::vector<Half>(24))));
  EXPECT_NE(input.find("tensor 'x' is [3, 8]; needs [seqlen, 16]"), std::string::npos) << input;
  const std::string large =
      refusal_of(with("b_2", f32_tensor("b_2", {16}, std::vector<float>(16, 1e6f))));
  EXPECT_NE(large.find("tensor 'b_2': 16 of 16 values are not finite in fp16"), std::string::npos)
      << large;
}

}  // namespace
}  // namespace sparkbench
