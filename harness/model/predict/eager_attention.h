// What eager PyTorch launches for an encoder layer (Hugging Face's BertLayer, PyTorch 1.13), from
// their sources. It differs from `--rest unfused` of the same layer:
//   - Q, K and V are products of their own; biases are in the products' epilogues (addmm by
//     cublasLt), so no launch adds them
//   - Q, K, V and the context are copied into the layout of a batched product and back: 8 passes
//     over a hidden tensor, and as many in the backward pass
//   - scaling the scores (2 passes), dropout of the probabilities (2.5) and of activations has a
//     launch of its own; dropout writes a mask of a byte per element, which its gradient reads
//   - the gradients of weights are added to those of earlier steps
#pragma once

#include <vector>

#include "harness/model/predict/unfused_time.h"
#include "reference/encoder/layer_steps.h"

namespace sparkbench {

/// Whether the layer's input wants a gradient; a benchmark's need not.
enum class InputGradient { kWanted, kNone };

/// All launches but the attention's.
std::vector<LayerStep> eager_rest(const LayerShape& shape, const Problem& problem, Pass pass,
                                  InputGradient input_gradient);

/// The attention's launches, from the copies of Q, K and V to that of the context.
std::vector<UnfusedStep> eager_attention(const Problem& problem, Pass pass);

}  // namespace sparkbench
