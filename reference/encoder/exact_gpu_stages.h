// Each stage of a layer in fp64 on a GPU, from inputs that are fp16 numbers: what a stage in fp16
// is judged by that is given the same.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/encoder/layer_steps.h"
#include "reference/encoder/exact_gpu_layer.h"

namespace sparkbench {

/// Names of layer_steps(): what a stage of a forward pass reads besides weights, a residual last,
/// and what is judged of what it writes. Of pre-LN's ff2 that is the product with its bias.
struct StageTensors {
  std::vector<std::string_view> inputs;
  std::string_view output;
};
StageTensors tensors_of_stage(NormPlace norm, Stage stage);

/// What a tensor of that name has as a stage's input where the rest is so.
const std::vector<Half>& stage_input(const StageInputs& inputs, std::string_view name, Rest rest);

/// The stage's output in fp64, [tokens, its columns], with biases where the stages of `shape` have
/// them. Throws OutOfDeviceMemory, and as exact_layer_on_gpu() does.
std::vector<double> exact_stage_on_gpu(Stage stage, const LayerShape& shape, const Problem& problem,
                                       const LayerWeights& weights, const StageInputs& inputs,
                                       cublasContext* cublas);

}  // namespace sparkbench
