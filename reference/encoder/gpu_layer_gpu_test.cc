// The layer on a GPU beside the oracle there, and that oracle beside the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "kernels/encoder/gpu_layer.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/unsupported_error.h"
#include "reference/cublas/packed_unfused.h"
#include "reference/encoder/exact_gpu_stages.h"
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
  return make_layer_tensors(layer.shape, static_cast<int>(layer.problem.total_q()), 5);
}

/// Empty, of one token, and of others; more rows than the oracle takes at once of a head's scores.
TestLayer packed_layer(NormPlace norm, Rest rest = Rest::kFused) {
  TestLayer layer = layer_with(norm, Activation::kGeluTanh, rest);
  layer.problem = with_lengths(layer.problem,
                               std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{
                                   {0, 0}, {1, 1}, {37, 37}, {1030, 1030}, {96, 96}}));
  return layer;
}

TestLayer pattern_layer(const char* pattern, Rest rest = Rest::kFused) {
  TestLayer layer = layer_with(NormPlace::kPost, Activation::kGeluTanh, rest);
  layer.problem.batch = 1;
  layer.problem.mask = MaskSpec::full();
  layer.problem.sparse = make_sparse_mask(pattern, 96, 96);
  return layer;
}

/// What enqueues an attention of cuBLAS, which takes P from its forward pass.
struct TestAttention {
  std::function<void()> forward, backward;
};
template <class Unfused>
TestAttention attention_by(std::shared_ptr<Unfused> unfused, const GpuLayer& layer,
                           cudaStream_t stream) {
  return {[=, tensors = layer.attention_tensors()] { unfused->forward(tensors, stream); },
          [=, &layer] { unfused->backward(layer.attention_gradients(), stream); }};
}
TestAttention cublas_attention(const TestLayer& layer, Pass pass, const GpuLayer& gpu,
                               cudaStream_t stream) {
  const Pass made_for = pass == Pass::kForward ? Pass::kForward : Pass::kBackward;
  if (layer.problem.lengths) {
    return attention_by(std::make_shared<PackedCublasUnfused>(
                            layer.problem, UnfusedPrecision::kFp16, made_for, make_cublas_handle()),
                        gpu, stream);
  }
  return attention_by(
      std::make_shared<CublasUnfused>(layer.problem, UnfusedPrecision::kFp16, made_for), gpu,
      stream);
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
      layer.problem.batch = 1;  // the host's is of one sequence, or of packed ones
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

/// Half a unit of fp16 is 2^-11; unfused, a stage adds up some of them.
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

Matrix<double> input_matrix(const StageInputs& inputs, std::string_view name, Rest rest,
                            std::size_t tokens) {
  const std::vector<Half>& halves = stage_input(inputs, name, rest);
  return matrix_of<double>(halves, tokens, halves.size() / tokens);
}

/// By the host's stages, from the same inputs.
std::vector<double> hosts_stage(const TestLayer& layer, const LayerWeights& weights,
                                const StageInputs& inputs, Stage stage) {
  const LayerStages<ExactMath> stages({}, layer.shape, layer.problem, weights);
  const bool is_post = layer.shape.norm == NormPlace::kPost;
  const StageTensors tensors = tensors_of_stage(layer.shape.norm, stage);
  const auto input = [&](std::size_t i) {
    return input_matrix(inputs, tensors.inputs.at(i), layer.shape.rest, layer.problem.total_q());
  };
  if (stage == Stage::kQkv) {
    std::vector<double> all;
    const Matrix<double> parts[] = {stages.qkv(input(0), 0), stages.qkv(input(0), 1),
                                    stages.qkv(input(0), 2)};
    for (std::size_t i = 0; i < parts[0].rows; ++i) {
      for (const Matrix<double>& part : parts) {
        all.insert(all.end(), part.row(i).begin(), part.row(i).end());
      }
    }
    return all;
  }
  if (stage == Stage::kMha) {
    const Matrix<double> qkv = input(0);
    Matrix<double> parts[3];
    for (std::size_t part = 0; part < 3; ++part) {
      parts[part] = Matrix<double>(qkv.rows, qkv.columns / 3);
      for (std::size_t i = 0; i < qkv.rows; ++i) {
        std::ranges::copy(qkv.row(i).subspan(part * qkv.columns / 3, qkv.columns / 3),
                          parts[part].row(i).begin());
      }
    }
    return exact_attention(layer.problem).forward(parts[0], parts[1], parts[2], 0).values;
  }
  if (stage == Stage::kProj) return stages.proj(input(0)).values;
  if (stage == Stage::kFf1) return stages.ff1(input(0)).g.values;
  if (stage == Stage::kFf2) return stages.ff2(input(0)).values;
  if (stage == Stage::kLn1 && !is_post) return stages.norm(input(0), 0).values;
  const bool is_first = !is_post || stage == Stage::kLn1;
  return stages
      .add_norm(is_first ? DropoutSite::kFirst : DropoutSite::kSecond, input(0), input(1),
                is_post && is_first ? 0 : 1, 0)
      .norm.values;
}

/// Each stage of the layer, given the oracle's values, beside the same in fp64 on the GPU, and that
/// beside the host's.
void expect_accurate_stages(const TestLayer& layer) {
  const LayerTensors tensors = tensors_of(layer);
  const StageInputs inputs = exact_of(layer, tensors).stage_inputs;
  const ProductLibrary library;
  const LayerDataOnGpu data(tensors);
  const CudaStream stream;
  GpuLayer gpu(layer.shape, layer.problem, Pass::kForward, data.weights(), library, stream.get());
  const TestAttention attention = cublas_attention(layer, Pass::kForward, gpu, stream.get());
  gpu.set_attention(attention.forward, attention.backward);
  for (const Stage stage : stages_in_order(layer.shape.norm)) {
    SCOPED_TRACE(std::string(name_of(stage)) + ", rest " + std::string(name_of(layer.shape.rest)) +
                 ", " + std::string(name_of(layer.shape.norm)));
    const std::vector<double> want = exact_stage_on_gpu(
        stage, layer.shape, layer.problem, tensors.weights, inputs, make_cublas_handle().get());
    expect_close(want, hosts_stage(layer, tensors.weights, inputs, stage), "the stage");
    gpu.poison();
    const StageTensors of_stage = tensors_of_stage(layer.shape.norm, stage);
    for (const std::string_view name : of_stage.inputs) {
      const std::vector<Half>& input = stage_input(inputs, name, layer.shape.rest);
      CUDA_CHECK(cudaMemcpyAsync(gpu.tensor(name), input.data(), input.size() * sizeof(Half),
                                 cudaMemcpyHostToDevice, stream.get()));
    }
    gpu.forward_stage(stage);
    stream.synchronize();
    const ErrorMetrics error =
        error_metrics(std::span<const Half>(download(gpu.tensor(of_stage.output), want.size())),
                      std::span<const double>(want));
    EXPECT_LT(error.rel_l2, 0x1p-10);
    EXPECT_GT(error.rel_l2, 0x1p-14);
  }
}

TEST_F(GpuLayerTest, StagesAreAccurateGivenExactInputs) {
  for (const Rest rest : {Rest::kFused, Rest::kUnfused}) {
    for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
      TestLayer layer = layer_with(norm, Activation::kGeluTanh, rest);
      layer.problem.batch = 1;  // as the host's
      expect_accurate_stages(layer);
      expect_accurate_stages(packed_layer(norm, rest));
    }
  }
  expect_accurate_stages(pattern_layer("sink:4+window:9"));
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
