// Errors of an fp16 layer against the same layer in fp64: of its output; of the branch before the
// last residual, which hides the branch's error; of each stage given exact inputs; and of each
// gradient.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reference/encoder/layer_data.h"
#include "reference/encoder/layer_passes.h"
#include "reference/error_metrics.h"

namespace sparkbench {

struct PartError {
  std::string of;  // "output", "before_residual", "qkv", ..., "dx", "dWqkv", ...
  ErrorMetrics error;
};

/// The results of a layer that was computed elsewhere, in fp16.
struct LayerOutputs {
  std::vector<Half> y;                                               // [tokens, hidden]
  std::vector<std::pair<std::string, std::vector<Half>>> gradients;  // by their names
};

/// One layer, its rows and its exact results, which every attention shares.
class LayerCheck {
 public:
  /// `problem` is one sequence, or varlen; x has its tokens. With a backward pass `rows` are all
  /// rows.
  LayerCheck(const LayerShape& shape, const Problem& problem, const LayerTensors& tensors,
             const LayerRows& rows, bool has_backward);

  /// The errors of the layer with this attention, its products on these tensor cores, and the rest
  /// as `rest` says. Exact values are those of fp64 from the same fp16 tensors. Both arithmetics
  /// get the exact stage inputs, rounded to fp16.
  std::vector<PartError> errors(const TensorCores& tensor_cores, Rest rest,
                                const AttentionFunctions<float>& attention) const;

  /// The errors of a layer that was computed elsewhere: of the output in the rows, and of each
  /// gradient.
  std::vector<PartError> errors(const LayerOutputs& outputs) const;

 private:
  LayerShape shape_;
  Problem problem_;
  const LayerTensors& tensors_;
  LayerRows rows_;
  bool has_backward_;
  LayerStages<ExactMath> exact_;
  AttentionFunctions<double> exact_attention_;
  LayerValues<double> values_;
  LayerGradients<double> gradients_;
};

/// FLOPs of one arithmetic's products for one sequence: its K and V, and everything else for
/// `rows`.
double layer_check_flops(const LayerShape& shape, const Problem& problem, const LayerRows& rows,
                         bool has_backward);

}  // namespace sparkbench
