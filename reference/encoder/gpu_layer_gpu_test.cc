// The layer on a GPU beside the oracle there, and that oracle beside the host's.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kernels/encoder/gpu_layer.h"
#include "kernels/unsupported_error.h"
#include "reference/cublas/cublas_unfused.h"
#include "reference/encoder/exact_gpu_layer.h"
#include "reference/encoder/layer_data_on_gpu.h"
#include "reference/encoder/layer_passes.h"
#include "reference/error_metrics.h"

namespace sparkbench {
namespace {

struct TestLayer {
  LayerShape shape;
  Problem problem;
};

TestLayer layer_with(NormPlace norm, Activation activation, Rest rest = Rest::kFused,
                     float dropout_p = 0.1f) {
  TestLayer layer;
  layer.shape = {.hidden = 128, .ffn = 384, .activation = activation, .norm = norm, .rest = rest};
  layer.problem.batch = 2;
  layer.problem.heads = 2;
  layer.problem.seqlen_q = layer.problem.seqlen_k = 96;
  layer.problem.head_dim = 64;
  layer.problem.mask = MaskSpec::causal();
  layer.problem.dropout_p = dropout_p;
  layer.problem.seed = 11;
  return layer;
}

LayerTensors tensors_of(const TestLayer& layer) {
  return make_layer_tensors(layer.shape, layer.problem.batch * layer.problem.seqlen_q, 5);
}

struct Values {
  std::vector<Half> output;
  std::vector<std::pair<std::string, std::vector<Half>>> gradients;
};

std::vector<Half> download(const Half* data, std::size_t elements) {
  std::vector<Half> host(elements);
  CUDA_CHECK(cudaMemcpy(host.data(), data, elements * sizeof(Half), cudaMemcpyDeviceToHost));
  return host;
}

/// With the unfused attention of cuBLAS, which takes P from its forward pass.
Values values_of(const TestLayer& layer, const LayerTensors& tensors, Pass pass, int repeats = 1) {
  const ProductLibrary library;
  const LayerDataOnGpu data(tensors);
  const CudaStream stream;
  GpuLayer gpu(layer.shape, layer.problem, pass, data.weights(), library, stream.get());
  const auto attention =
      std::make_shared<CublasUnfused>(layer.problem, UnfusedPrecision::kFp16,
                                      pass == Pass::kForward ? Pass::kForward : Pass::kBackward);
  const ForwardTensors forward = gpu.attention_tensors();
  gpu.set_attention(
      [=, &stream] { attention->forward(forward, stream.get()); },
      [=, &stream, &gpu] { attention->backward(gpu.attention_gradients(), stream.get()); });
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

ExactLayerResult exact_of(const TestLayer& layer, const LayerTensors& tensors) {
  return exact_layer_on_gpu(layer.shape, layer.problem, tensors, true, make_cublas_handle().get());
}

const std::vector<double>& find(const ExactLayerResult& exact, const std::string& name) {
  for (const auto& [of, values] : exact.gradients) {
    if (of == name) return values;
  }
  throw std::out_of_range(name);
}

void expect_close(const std::vector<double>& a, std::span<const double> b, const std::string& of) {
  ASSERT_EQ(a.size(), b.size()) << of;
  double difference = 0, square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    square += b[i] * b[i];
  }
  EXPECT_LE(difference, 1e-24 * square) << of;
}

class GpuLayerTest : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(GpuLayerTest, OracleIsTheHosts) {
  for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
    for (const Activation activation :
         {Activation::kGeluTanh, Activation::kGeluErf, Activation::kRelu}) {
      TestLayer layer = layer_with(norm, activation);
      layer.problem.batch = 1;  // the host's is of one sequence
      const LayerTensors tensors = tensors_of(layer);
      const ExactLayerResult exact = exact_of(layer, tensors);
      const LayerStages<ExactMath> stages({}, layer.shape, layer.problem, tensors.weights);
      const auto attention = exact_attention(layer.problem);
      const auto x = matrix_of<double>(tensors.x, 96, 128);
      const auto values = layer_forward(stages, x, LayerRows{0, 96}, attention);
      expect_close(exact.output, values.y(norm).values, "output");
      expect_close(exact.before_residual, values.second.branch.values, "before_residual");
      const auto d_y = matrix_of<double>(tensors.d_y, 96, 128);
      for (const auto& [name, gradient] :
           LayerBackward<ExactMath>(stages, x, values, attention).run(d_y)) {
        expect_close(find(exact, std::string(name)), gradient.values, std::string(name));
      }
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
            // An argument falls on the other side of the step in one element of some thousands: few
            // here, and not the same of both.
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

/// More rows than a sum has parts, and than the oracle takes at once of a head's scores.
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
