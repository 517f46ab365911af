// An encoder layer as eager PyTorch launches it (Hugging Face's BertLayer, PyTorch 1.13), from
// their sources. The launches differ from those of the same layer with an unfused rest:
//   - Q, K and V are products of their own. Biases are in the products' epilogues (addmm by
//     cublasLt), so no launch adds them.
//   - Dropout writes a mask of a byte per element, which its gradient reads.
//   - The gradients of weights are added to those of earlier steps, and the input's gradients by
//     Q, K and V to each other.
// PyTorch's own attention is harness/model/predict/eager_attention.h. No code here computes such a
// layer.
#pragma once

#include <vector>

#include "reference/encoder/layer_memory.h"
#include "reference/encoder/layer_steps.h"

namespace sparkbench {

/// The launches of an eager layer, from those of the same pass with an unfused rest.
std::vector<LayerStep> eager_steps(const std::vector<LayerStep>& unfused);

/// Without the launches for the gradient of a post-LN layer's input, which a benchmark need not
/// want.
std::vector<LayerStep> without_input_gradient(std::vector<LayerStep> eager);

/// What PyTorch's eager attention holds. From the forward to the backward pass these are Q, K and V
/// in a batched product's layout, P, and with dropout dropout(P) and its mask of bytes; while the
/// forward pass runs also the scaled scores and the context.
AttentionMemory eager_attention_memory(const Problem& problem, Pass pass);

}  // namespace sparkbench
