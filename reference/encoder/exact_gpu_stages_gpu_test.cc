// Each stage of a layer on a GPU, given exact inputs, against the same stage in fp64 on the GPU,
// and that against the fp64 stage on the host.
#include "reference/encoder/exact_gpu_stages.h"

#include <algorithm>
#include <string>

#include "reference/encoder/layer_data_on_gpu.h"
#include "reference/encoder/layer_passes.h"
#include "reference/encoder/test_gpu_layer.h"
#include "reference/error_metrics.h"

namespace sparkbench {
namespace {

Matrix<double> input_matrix(const StageInputs& inputs, std::string_view name, Rest rest,
                            std::size_t tokens) {
  const std::vector<Half>& halves = stage_input(inputs, name, rest);
  return matrix_of<double>(halves, tokens, halves.size() / tokens);
}

/// The host's stage, from the same inputs.
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
      layer.problem.batch = 1;  // as on the host
      expect_accurate_stages(layer);
      expect_accurate_stages(packed_layer(norm, rest));
    }
  }
  expect_accurate_stages(pattern_layer("sink:4+window:9"));
}

}  // namespace
}  // namespace sparkbench
