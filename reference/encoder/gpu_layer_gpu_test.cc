// The layer on a GPU against the GPU oracle, and that oracle against the host's.
#include "reference/encoder/gpu_layer.h"

#include <string>
#include <utility>

#include "kernels/base/unsupported_error.h"
#include "reference/encoder/layer_data_on_gpu.h"
#include "reference/encoder/layer_passes.h"
#include "reference/encoder/test_gpu_layer.h"
#include "reference/error_metrics.h"

namespace sparkbench {
namespace {

struct Values {
  std::vector<Half> output;
  std::vector<std::pair<std::string, std::vector<Half>>> gradients;
};

/// With the unfused attention of cuBLAS.
Values values_of(const TestLayer& layer, const LayerTensors& tensors, Pass pass, int repeats = 1) {
  const ProductLibrary library;
  const LayerDataOnGpu data(tensors);
  const CudaStream stream;
  GpuLayer gpu(layer.shape, layer.problem, pass, data.weights(), library, stream.get());
  const TestAttention attention = cublas_attention(layer, pass, gpu, stream.get());
  gpu.set_attention(attention.forward, attention.backward);
  gpu.poison();
  data.give_inputs(gpu, stream.get());
  gpu.forward();
  stream.synchronize();
  const std::size_t elements = tensors.x.size();
  Values values{download(gpu.tensor("y"), elements), {}};
  if (pass == Pass::kForward) return values;
  for (int i = 0; i < repeats; ++i) gpu.backward();
  stream.synchronize();
  for (const LayerGradient& gradient : gpu.gradients()) {
    values.gradients.emplace_back(gradient.name, download(gradient.data, gradient.elements));
  }
  return values;
}

const std::vector<double>& find(const ExactLayerResult& exact, const std::string& name) {
  for (const auto& [of, values] : exact.gradients) {
    if (of == name) return values;
  }
  throw std::out_of_range(name);
}

void expect_hosts_oracle(const TestLayer& layer) {
  const LayerTensors tensors = tensors_of(layer);
  const ExactLayerResult exact = exact_of(layer, tensors);
  const std::size_t tokens = layer.problem.total_q();
  const LayerStages<ExactMath> stages({}, layer.shape, layer.problem, tensors.weights);
  const auto attention = exact_attention(layer.problem);
  const auto x = matrix_of<double>(tensors.x, tokens, 128);
  const auto values = layer_forward(stages, x, LayerRows{0, tokens}, attention);
  expect_close(exact.output, values.y(layer.shape.norm).values, "output");
  expect_close(exact.before_residual, values.second.branch.values, "before_residual");
  const auto d_y = matrix_of<double>(tensors.d_y, tokens, 128);
  for (const auto& [name, gradient] :
       LayerBackward<ExactMath>(stages, x, values, attention).run(d_y)) {
    expect_close(find(exact, std::string(name)), gradient.values, std::string(name));
  }
}

TEST_F(GpuLayerTest, OracleIsTheHosts) {
  for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
    for (const Activation activation :
         {Activation::kGeluTanh, Activation::kGeluErf, Activation::kRelu}) {
      TestLayer layer = layer_with(norm, activation);
      layer.problem.batch = 1;  // the host's oracle takes one sequence, or varlen
      expect_hosts_oracle(layer);
    }
  }
}

TEST_F(GpuLayerTest, OracleOfPackedSequencesIsTheHosts) {
  for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
    expect_hosts_oracle(packed_layer(norm));
  }
}

TEST_F(GpuLayerTest, OracleOfPatternsIsTheHosts) {
  for (const char* pattern : {"sink:4+window:9", "window:9/full", "strided:8"}) {
    SCOPED_TRACE(pattern);
    expect_hosts_oracle(pattern_layer(pattern));
  }
  TestLayer asked = layer_with(NormPlace::kPost, Activation::kRelu);
  asked.problem.batch = 1;
  asked.problem.dropout_scale = DropoutScale::kAsked;
  expect_hosts_oracle(asked);
}

/// Half a unit of fp16 is 2^-11; an unfused stage adds up several of them.
void expect_accurate(const TestLayer& layer) {
  const LayerTensors tensors = tensors_of(layer);
  const ExactLayerResult exact = exact_of(layer, tensors);
  const Values values = values_of(layer, tensors, Pass::kForwardBackward);
  const auto rel_l2 = [](const std::vector<Half>& got, const std::vector<double>& want) {
    return error_metrics(std::span<const Half>(got), std::span<const double>(want)).rel_l2;
  };
  EXPECT_LT(rel_l2(values.output, exact.output), 2e-3);
  ASSERT_EQ(values.gradients.size(), 13u);
  for (const auto& [name, got] : values.gradients) {
    EXPECT_LT(rel_l2(got, find(exact, name)), 5e-3) << name;
  }
}

TEST_F(GpuLayerTest, HoldsForPackedSequences) {
  for (const Rest rest : {Rest::kFused, Rest::kUnfused}) {
    for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
      expect_accurate(packed_layer(norm, rest));
    }
  }
}

TEST_F(GpuLayerTest, HoldsForPatterns) {
  for (const Rest rest : {Rest::kFused, Rest::kUnfused}) {
    for (const char* pattern : {"sink:4+window:9", "window:9/full"}) {
      expect_accurate(pattern_layer(pattern, rest));
    }
  }
}

TEST_F(GpuLayerTest, IsAsAccurateAsUnfused) {
  for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
    for (const Activation activation :
         {Activation::kGeluTanh, Activation::kGeluErf, Activation::kRelu}) {
      for (const float dropout_p : {0.0f, 0.1f}) {
        SCOPED_TRACE(std::string(name_of(norm)) + " " + std::string(name_of(activation)) + " " +
                     std::to_string(dropout_p));
        const TestLayer layer = layer_with(norm, activation, Rest::kFused, dropout_p);
        const LayerTensors tensors = tensors_of(layer);
        const ExactLayerResult exact = exact_of(layer, tensors);
        const auto error_of = [](const std::vector<Half>& got, const std::vector<double>& want) {
          return error_metrics(std::span<const Half>(got), std::span<const double>(want));
        };
        const Values fused = values_of(layer, tensors, Pass::kForwardBackward);
        const Values unfused = values_of(layer_with(norm, activation, Rest::kUnfused, dropout_p),
                                         tensors, Pass::kForwardBackward);
        EXPECT_LT(error_of(unfused.output, exact.output).rel_l2, 2e-3);
        EXPECT_EQ(why_incorrect(error_of(fused.output, exact.output),
                                error_of(unfused.output, exact.output), {}),
                  "");
        ASSERT_EQ(fused.gradients.size(), exact.gradients.size());
        for (std::size_t i = 0; i < fused.gradients.size(); ++i) {
          const auto& [name, got] = fused.gradients[i];
          ASSERT_EQ(unfused.gradients[i].first, name);
          const ErrorMetrics error = error_of(unfused.gradients[i].second, find(exact, name));
          const ErrorMetrics of_fused = error_of(got, find(exact, name));
          if (activation == Activation::kRelu) {
            // In one element of some thousands the argument falls on the other side of the ReLU
            // step: few here, and other elements in the two layers.
            EXPECT_LT(error.rel_l2, 0.04) << name;
            EXPECT_LT(of_fused.rel_l2, 0.04) << name;
          } else {
            EXPECT_LT(error.rel_l2, 5e-3) << name;
            EXPECT_EQ(why_incorrect(of_fused, error, {}), "") << name;
          }
        }
      }
    }
  }
}

/// More rows than a sum has partial sums, and than the oracle computes at once for a head's scores.
TEST_F(GpuLayerTest, HoldsForLongSequences) {
  TestLayer layer = layer_with(NormPlace::kPre, Activation::kGeluTanh);
  constexpr int kSeqlen = 1100;
  layer.problem.batch = 1;
  layer.problem.seqlen_q = layer.problem.seqlen_k = kSeqlen;
  const LayerTensors tensors = tensors_of(layer);
  const ExactLayerResult exact = exact_of(layer, tensors);
  const LayerStages<ExactMath> stages({}, layer.shape, layer.problem, tensors.weights);
  const auto x = matrix_of<double>(tensors.x, kSeqlen, 128);
  const auto values =
      layer_forward(stages, x, LayerRows{0, kSeqlen}, exact_attention(layer.problem));
  expect_close(exact.output, values.y(NormPlace::kPre).values, "output");
  for (const Pass pass : {Pass::kForwardBackward, Pass::kBackward}) {
    const Values fused = values_of(layer, tensors, pass);
    EXPECT_LT(
        error_metrics(std::span<const Half>(fused.output), std::span<const double>(exact.output))
            .rel_l2,
        2e-3);
    for (const auto& [name, got] : fused.gradients) {
      EXPECT_LT(
          error_metrics(std::span<const Half>(got), std::span<const double>(find(exact, name)))
              .rel_l2,
          5e-3)
          << name;
    }
  }
}

TEST_F(GpuLayerTest, WithoutBiasHasNoneOfItsGradients) {
  TestLayer layer = layer_with(NormPlace::kPost, Activation::kGeluTanh);
  layer.shape.bias = false;
  const LayerTensors tensors = tensors_of(layer);
  const ExactLayerResult exact = exact_of(layer, tensors);
  const Values fused = values_of(layer, tensors, Pass::kForwardBackward);
  EXPECT_EQ(fused.gradients.size(), 9u);
  for (const auto& [name, got] : fused.gradients) {
    const ErrorMetrics error =
        error_metrics(std::span<const Half>(got), std::span<const double>(find(exact, name)));
    EXPECT_LT(error.rel_l2, 5e-3) << name;
  }
}

TEST_F(GpuLayerTest, RepeatsItsBackwardPassBitForBit) {
  for (const Rest rest : {Rest::kFused, Rest::kUnfused}) {
    const TestLayer layer = layer_with(NormPlace::kPre, Activation::kGeluTanh, rest);
    const LayerTensors tensors = tensors_of(layer);
    const Values once = values_of(layer, tensors, Pass::kBackward);
    const Values again = values_of(layer, tensors, Pass::kBackward, 3);
    for (std::size_t i = 0; i < once.gradients.size(); ++i) {
      const auto bits = [](const std::vector<Half>& values) {
        return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 2);
      };
      EXPECT_EQ(bits(once.gradients[i].second), bits(again.gradients[i].second))
          << once.gradients[i].first;
    }
  }
}

TEST_F(GpuLayerTest, TakesRowsOfAnyWidth) {
  for (const int heads : {1, 3, 33, 65, 128}) {  // 64 to 8192 columns
    TestLayer layer = layer_with(NormPlace::kPost, Activation::kRelu);
    layer.problem.heads = heads;
    layer.problem.seqlen_q = layer.problem.seqlen_k = 5;
    layer.shape.hidden = 64 * heads;
    layer.shape.ffn = 136;
    const LayerTensors tensors = tensors_of(layer);
    const ExactLayerResult exact = exact_of(layer, tensors);
    const Values fused = values_of(layer, tensors, Pass::kForwardBackward);
    EXPECT_LT(
        error_metrics(std::span<const Half>(fused.output), std::span<const double>(exact.output))
            .rel_l2,
        2e-3)
        << heads;
    for (const auto& [name, got] : fused.gradients) {
      EXPECT_LT(
          error_metrics(std::span<const Half>(got), std::span<const double>(find(exact, name)))
              .rel_l2,
          1e-2)
          << name << " of " << heads;
    }
  }
}

TEST_F(GpuLayerTest, RefusesRowsThatNoBlockHolds) {
  TestLayer layer = layer_with(NormPlace::kPost, Activation::kRelu);
  layer.problem.heads = 130;
  layer.shape.hidden = 64 * 130;
  const ProductLibrary library;
  EXPECT_THROW(GpuLayer(layer.shape, layer.problem, Pass::kForward, {}, library, nullptr),
               UnsupportedError);
}

}  // namespace
}  // namespace sparkbench
