// A layer that the user brings: a model's own weights, and the input that reaches them.
#pragma once

#include <string>
#include <vector>

#include "reference/encoder/layer_data.h"
#include "results/record/case_record.h"

namespace sparkbench {

struct OwnLayer {
  std::string path;  // as given
  std::string hash;  // FNV-1a of the file's bytes, 16 hexadecimal digits
  int batch = 1, seqlen = 1;
  LayerShape shape;      // hidden, ffn and bias; the rest as by default
  LayerTensors tensors;  // of the first sequence; d_y empty when the file has none
  std::vector<Warning> warnings;
};

/// Reads the tensors of named_tensors() (reference/encoder/layer_data.h) from a safetensors file,
/// each F16, BF16 or F32, rounded to fp16. Matrices are [out, in]; x, and d_y where there is one,
/// are [seqlen, hidden] or [batch, seqlen, hidden]. A layer without bias has none of the tensors
/// b_*. Other tensors of the file are left alone. Throws UsageError, one line that names the
/// tensor, for one that is missing, for shapes that do not fit each other, for values that fp16 has
/// no number for, and for a file that cannot be read.
OwnLayer read_own_layer(const std::string& path);

}  // namespace sparkbench
