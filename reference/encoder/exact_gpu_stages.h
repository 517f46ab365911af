// Each stage of a layer in fp64 on a GPU, from fp16 inputs: the oracle for an fp16 stage with the
// same inputs.
#pragma once

#include <string_view>
#include <vector>

#include "reference/encoder/exact_gpu_layer.h"
#include "reference/encoder/layer_steps.h"

namespace sparkbench {

/// Names from layer_steps(): the inputs of a forward stage except weights (a residual comes last),
/// and the output that is checked. For pre-LN's ff2 the output is the product with its bias.
struct StageTensors {
  std::vector<std::string_view> inputs;
  std::string_view output;
};
StageTensors tensors_of_stage(NormPlace norm, Stage stage);

/// The stage input of that name under `rest`.
const std::vector<Half>& stage_input(const StageInputs& inputs, std::string_view name, Rest rest);

/// The stage's output in fp64, [tokens, its columns], with biases if the stages of `shape` have
/// them. Throws what exact_layer_on_gpu() throws.
std::vector<double> exact_stage_on_gpu(Stage stage, const LayerShape& shape, const Problem& problem,
                                       const LayerWeights& weights, const StageInputs& inputs,
                                       cublasContext* cublas);

}  // namespace sparkbench
