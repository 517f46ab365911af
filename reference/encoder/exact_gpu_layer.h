// The layer in fp64 on a GPU: the oracle of layers that are too large for the host's
// (layer_math.h). It shares with the layers that it judges nothing but the definitions of mask,
// dropout and activation.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/encoder/layer_data.h"

struct cublasContext;

namespace sparkbench {

/// What stages read, rounded to fp16, by the names of layer_steps(): "x", "qkv", "o", "a", "h",
/// "g", "f" of post-LN, "n1", ... of pre-LN. Where the rest is unfused "a" and "f" have their
/// biases: "a" + kBehindBias.
using StageInputs = std::map<std::string, std::vector<Half>, std::less<>>;
inline constexpr const char* kBehindBias = " behind bias";

/// Of all tokens of all sequences.
struct ExactLayerResult {
  std::vector<double> output;           // [tokens, hidden]
  std::vector<double> before_residual;  // the same, what the last residual is added to
  std::vector<std::pair<std::string, std::vector<double>>> gradients;  // by the names of
                                                                       // layer_passes.h
  StageInputs stage_inputs;
};

/// x and d_y of `tensors` are [tokens, hidden]. About 8 (11 hidden + 2 ffn) bytes a token, and as
/// much again backward; on the host 2 (10 hidden + ffn) a token for what stages read. Throws
/// OutOfDeviceMemory where the current device does not have them, std::runtime_error for what else
/// goes wrong there.
ExactLayerResult exact_layer_on_gpu(const LayerShape& shape, const Problem& problem,
                                    const LayerTensors& tensors, bool has_backward,
                                    cublasContext* cublas);

}  // namespace sparkbench
