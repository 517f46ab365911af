// The layer in fp64 on a GPU: the oracle for layers that are too large for the oracle on the host
// (layer_math.h). It shares only the definitions of mask, dropout and activation with the layers
// that it checks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/encoder/layer_data.h"

struct cublasContext;

namespace sparkbench {

/// Stage inputs, rounded to fp16, by their names in layer_steps(): "x", "qkv", "o", "a", "h", "g",
/// "f" for post-LN, "n1", ... for pre-LN. For unfused other stages, "a" and "f" include their
/// biases: "a" + kBehindBias.
using StageInputs = std::map<std::string, std::vector<Half>, std::less<>>;
inline constexpr const char* kBehindBias = " behind bias";

/// For all tokens of all sequences.
struct ExactLayerResult {
  std::vector<double> output;           // [tokens, hidden]
  std::vector<double> before_residual;  // [tokens, hidden], the branch before the last residual
  std::vector<std::pair<std::string, std::vector<double>>> gradients;  // by their names in
                                                                       // layer_passes.h
  StageInputs stage_inputs;
};

/// x and d_y of `tensors` are [tokens, hidden]. Takes about 8 (11 hidden + 2 ffn) bytes a token,
/// twice that with a backward pass; on the host 2 (10 hidden + ffn) bytes a token for the stage
/// inputs. Throws OutOfDeviceMemory if the current device has too little memory, std::runtime_error
/// for any other failure there.
ExactLayerResult exact_layer_on_gpu(const LayerShape& shape, const Problem& problem,
                                    const LayerTensors& tensors, bool has_backward,
                                    cublasContext* cublas);

}  // namespace sparkbench
