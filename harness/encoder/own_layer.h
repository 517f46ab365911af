// The user's own layer: a model's weights, and the input that reaches them.
#pragma once

#include <string>
#include <vector>

#include "harness/run/problems/tensor_file.h"
#include "reference/encoder/layer_data.h"

namespace sparkbench {

struct OwnLayer : OwnInputs {
  int batch = 1, seqlen = 1;
  LayerShape shape;      // hidden, ffn and bias; otherwise defaults
  LayerTensors tensors;  // of the first sequence; d_y is empty if the file has none

  AxisFlags extents() const override;
  const char* missing_gradient() const override { return tensors.d_y.empty() ? "d_y" : nullptr; }
};

/// Reads the tensors of named_tensors() (reference/encoder/layer_data.h) from a safetensors file,
/// each F16, BF16 or F32, rounded to fp16. Matrices are [out, in]. x, and d_y if present, are
/// [seqlen, hidden] or [batch, seqlen, hidden]. A layer without bias has none of the tensors b_*.
/// Other tensors in the file are ignored. Throws UsageError, one line that names the tensor, for a
/// missing one, for inconsistent shapes, for values outside fp16's range, and for an unreadable
/// file.
OwnLayer read_own_layer(const std::string& path);

}  // namespace sparkbench
