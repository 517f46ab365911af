// What eager PyTorch launches for a layer's attention (Hugging Face's BertSelfAttention, PyTorch
// 1.13), from their sources. In addition to the unfused computation's launches:
//   - Q, K, V and the context are copied into the layout of a batched product and back: 8 passes
//     over a hidden tensor, and as many in the backward pass.
//   - Scaling the scores (2 passes), adding a mask (2) and dropout of the probabilities (2.5) are
//     launches of their own. The mask's has no gradient.
//   - The softmax reads all scores, hidden ones too.
// reference/encoder/eager_steps.h is the rest of the layer.
#pragma once

#include <vector>

#include "harness/model/predict/unfused_time.h"
#include "sweeps/case_problem.h"

namespace sparkbench {

/// The launches from the copies of Q, K and V to that of the context. The problem has one length.
std::vector<UnfusedStep> eager_attention(const Problem& problem, Pass pass);

/// The baseline's attention: eager PyTorch's in an eager layer, else the unfused computation.
std::vector<UnfusedStep> baseline_attention(const CaseProblem& problem);

}  // namespace sparkbench
