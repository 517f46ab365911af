#include "harness/plugin/plugin_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "kernels/testing/messages.h"
#include "reference/encoder/layer_data.h"

namespace sparkbench {
namespace {

constexpr int kHidden = 8, kFfn = 6, kTokens = 6;

/// What the fake layer saw, and how it behaves.
struct FakeLayer {
  sparkbench_layer layer{};
  sparkbench_layer_tensors tensors{};
  std::vector<std::string> calls;
  bool writes_outputs = true, writes_to_gamma = false;
  std::vector<Half> own_y;  // of one with own outputs
};
FakeLayer fake_layer;

void fill(void* at, std::size_t count, std::uint16_t bits) {
  std::fill_n(static_cast<Half*>(at), count, Half{bits});
}

/// y = x; every gradient's elements are the number of its weight, dx's 100.
sparkbench_kernel fake_layer_table() {
  fake_layer = {};
  sparkbench_kernel table{};
  table.struct_bytes = sizeof table;
  table.name = "fake";
  table.backend = SPARKBENCH_HOST;
  table.computes_layers = 1;
  table.supports = [](const sparkbench_problem* problem) -> const char* {
    fake_layer.layer = *problem->layer;
    return problem->layer->is_pre_norm != 0 ? "post-LN only" : nullptr;
  };
  table.prepare = [](const sparkbench_problem* problem, void*, void*, void** plan) -> int32_t {
    fake_layer.layer = *problem->layer;
    *plan = &fake_layer;
    return SPARKBENCH_OK;
  };
  table.forward = [](void*, const sparkbench_tensors* tensors, void*) -> int32_t {
    fake_layer.calls.emplace_back("forward");
    fake_layer.tensors = *tensors->layer;
    if (fake_layer.writes_to_gamma) {
      fill(const_cast<void*>(tensors->layer->weights[SPARKBENCH_GAMMA_1]), kHidden, 1);
    }
    const auto* const x = static_cast<const Half*>(tensors->layer->x);
    if (tensors->layer->y == nullptr) {
      fake_layer.own_y.assign(x, x + kTokens * kHidden);
    } else if (fake_layer.writes_outputs) {
      std::copy_n(x, kTokens * kHidden, static_cast<Half*>(tensors->layer->y));
    }
    return SPARKBENCH_OK;
  };
  table.backward = [](void*, const sparkbench_tensors* tensors, void*) -> int32_t {
    fake_layer.calls.emplace_back("backward");
    const sparkbench_layer_tensors& layer = *tensors->layer;
    fake_layer.tensors = layer;
    fill(layer.dx, kTokens * kHidden, 100);
    const LayerShape shape{.hidden = kHidden, .ffn = kFfn};
    const auto named = named_tensors(shape, kTokens);
    for (std::uint16_t i = 0; i < SPARKBENCH_WEIGHTS; ++i) {
      if (layer.d_weights[i] != nullptr) fill(layer.d_weights[i], named[i].elements(), i);
    }
    return SPARKBENCH_OK;
  };
  return table;
}

PluginLayer layer_with(const sparkbench_kernel& table) {
  DeviceInfo device;
  device.sm = 70;
  return PluginLayer(checked_kernels("./x.so", {{&table, "./x.so:fake", ""}}).front(), device,
                     std::nullopt, false);
}

LayerShape small_shape(bool has_bias = true) {
  return {.hidden = kHidden,
          .ffn = kFfn,
          .activation = Activation::kRelu,
          .bias = has_bias,
          .rest = Rest::kUnfused};
}

Problem layer_problem() {
  Problem problem;
  problem.batch = 2;
  problem.heads = 2;
  problem.seqlen_q = problem.seqlen_k = 3;
  problem.head_dim = 4;
  return problem;
}

LayerOutputs outputs_of(const sparkbench_kernel& table, Pass pass, bool has_bias = true) {
  const LayerShape shape = small_shape(has_bias);
  const LayerTensors tensors = make_layer_tensors(shape, kTokens, 7);
  return layer_with(table).run_on_host(shape, layer_problem(), tensors, {pass, false, false, {}});
}

TEST(PluginLayer, IsAskedWithItsShape) {
  const sparkbench_kernel table = fake_layer_table();
  const PluginLayer layer = layer_with(table);
  EXPECT_TRUE(layer.supports_layer(small_shape(), layer_problem(), Pass::kForward));
  EXPECT_EQ(fake_layer.layer.struct_bytes, sizeof fake_layer.layer);
  EXPECT_EQ(fake_layer.layer.hidden, kHidden);
  EXPECT_EQ(fake_layer.layer.ffn, kFfn);
  EXPECT_EQ(fake_layer.layer.activation, SPARKBENCH_RELU);
  EXPECT_EQ(fake_layer.layer.has_bias, 1);
  EXPECT_EQ(fake_layer.layer.rest_is_fused, 0);
  LayerShape pre = small_shape();
  pre.norm = NormPlace::kPre;
  EXPECT_EQ(layer.supports_layer(pre, layer_problem(), Pass::kForward).why_not,
            "fake: post-LN only");
  EXPECT_EQ(layer.supports(layer_problem(), Pass::kForward).why_not,
            "fake computes whole layers; allowed: sparkbench encoder");
  EXPECT_EQ(whole_layer(layer), &layer);
}

TEST(PluginLayer, HasNoBackwardPassWithoutOne) {
  sparkbench_kernel table = fake_layer_table();
  table.backward = nullptr;
  EXPECT_EQ(
      layer_with(table).supports_layer(small_shape(), layer_problem(), Pass::kBackward).why_not,
      "fake has no backward pass");
}

TEST(PluginLayer, GivesItsOutputAndEveryGradientByName) {
  const LayerTensors tensors = make_layer_tensors(small_shape(), kTokens, 7);
  const LayerOutputs outputs = outputs_of(fake_layer_table(), Pass::kBackward);
  EXPECT_EQ(fake_layer.calls, (std::vector<std::string>{"forward", "backward"}));
  ASSERT_EQ(outputs.y.size(), tensors.x.size());
  EXPECT_TRUE(std::equal(outputs.y.begin(), outputs.y.end(), tensors.x.begin(),
                         [](Half a, Half b) { return a.bits == b.bits; }));
  ASSERT_EQ(outputs.gradients.size(), 13u);
  std::map<std::string, std::vector<Half>> named(outputs.gradients.begin(),
                                                 outputs.gradients.end());
  EXPECT_EQ(named.at("dWqkv").size(), 3u * kHidden * kHidden);
  EXPECT_EQ(named.at("dWqkv").back().bits, 0);
  EXPECT_EQ(named.at("dW2").back().bits, SPARKBENCH_W_2);
  EXPECT_EQ(named.at("dbeta2").back().bits, SPARKBENCH_BETA_2);
  EXPECT_EQ(named.at("dx").front().bits, 100);
}

TEST(PluginLayer, HasNoGradientsForwardAndNoBiasesWithoutThem) {
  EXPECT_TRUE(outputs_of(fake_layer_table(), Pass::kForward).gradients.empty());
  EXPECT_EQ(fake_layer.tensors.d_y, nullptr);
  EXPECT_EQ(outputs_of(fake_layer_table(), Pass::kBackward, false).gradients.size(), 9u);
  EXPECT_EQ(fake_layer.tensors.weights[SPARKBENCH_B_1], nullptr);
  EXPECT_EQ(fake_layer.tensors.d_weights[SPARKBENCH_B_1], nullptr);
  EXPECT_NE(fake_layer.tensors.weights[SPARKBENCH_W_1], nullptr);
}

TEST(PluginLayer, LeavesNaNsWhereItWritesNothing) {
  const sparkbench_kernel table = fake_layer_table();
  fake_layer.writes_outputs = false;
  for (const Half value : outputs_of(table, Pass::kForward).y) {
    EXPECT_NE(to_float(value), to_float(value));
  }
}

TEST(PluginLayer, MayHaveOutputsOfItsOwn) {
  sparkbench_kernel table = fake_layer_table();
  table.outputs = [](void*, sparkbench_tensors* tensors, void*) -> int32_t {
    tensors->layer->y = nullptr;
    if (fake_layer.writes_outputs) tensors->layer->y = fake_layer.own_y.data();
    return SPARKBENCH_OK;
  };
  EXPECT_EQ(outputs_of(table, Pass::kForward).y.size(), std::size_t{kTokens} * kHidden);
  EXPECT_EQ(fake_layer.calls.size(), 2u);  // the second one from poisoned outputs
  fake_layer.writes_outputs = false;
  EXPECT_EQ(message_of<std::runtime_error>([&] { outputs_of(table, Pass::kForward); }),
            "fake: its y is missing");
}

TEST(PluginLayer, MayNotWriteToItsInputs) {
  const sparkbench_kernel table = fake_layer_table();
  fake_layer.writes_to_gamma = true;
  EXPECT_EQ(message_of<std::runtime_error>([&] { outputs_of(table, Pass::kForward); }),
            "fake: it wrote to its input gamma_1");
}

}  // namespace
}  // namespace sparkbench
