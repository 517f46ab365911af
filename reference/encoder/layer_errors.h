// How wrong a layer in fp16 is beside the same in fp64: its output, what the last residual is added
// to (which hides a branch's error), each stage given exact inputs, and each gradient.
#pragma once

#include <string>
#include <vector>

#include "reference/encoder/layer_data.h"
#include "reference/encoder/layer_passes.h"
#include "reference/error_metrics.h"

namespace sparkbench {

struct PartError {
  std::string of;  // "output", "before_residual", "qkv", ..., "dx", "dWqkv", ...
  ErrorMetrics error;
};

/// One layer, its rows, and what it is checked against, which every attention shares.
class LayerCheck {
 public:
  /// `problem` is of one sequence, or of packed ones, of which x has the tokens. With a backward
  /// pass `rows` are all.
  LayerCheck(const LayerShape& shape, const Problem& problem, const LayerTensors& tensors,
             const LayerRows& rows, bool has_backward);

  /// Of the layer with this attention, its products on these tensor cores; and with the rest as
  /// `rest` says. Exact values are those of fp64 from the same fp16 tensors; a stage's inputs are
  /// the exact ones rounded to fp16, for both.
  std::vector<PartError> errors(const TensorCores& tensor_cores, Rest rest,
                                const AttentionFunctions<float>& attention) const;

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

/// FLOPs of the products of one arithmetic, of one sequence: of its K and V, and of everything of
/// `rows`.
double layer_check_flops(const LayerShape& shape, const Problem& problem, const LayerRows& rows,
                         bool has_backward);

}  // namespace sparkbench
