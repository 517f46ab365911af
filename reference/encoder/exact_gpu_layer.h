// The layer in fp64 on a GPU: the oracle of layers that are too large for the host's
// (layer_math.h). It shares with the layers that it judges nothing but the definitions of mask,
// dropout and activation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reference/encoder/layer_data.h"

struct cublasContext;

namespace sparkbench {

/// Of all tokens of all sequences.
struct ExactLayerResult {
  std::vector<double> output;           // [tokens, hidden]
  std::vector<double> before_residual;  // the same, what the last residual is added to
  std::vector<std::pair<std::string, std::vector<double>>> gradients;  // by the names of
                                                                       // layer_passes.h
};

/// x and d_y of `tensors` are [tokens, hidden]. Of a mask of one run, not of a pattern. About
/// 8 (11 hidden + 2 ffn) bytes a token, and as much again backward. Throws OutOfDeviceMemory where
/// the current device does not have them, std::runtime_error for what else goes wrong there.
ExactLayerResult exact_layer_on_gpu(const LayerShape& shape, const Problem& problem,
                                    const LayerTensors& tensors, bool has_backward,
                                    cublasContext* cublas);

}  // namespace sparkbench
