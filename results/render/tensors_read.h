// How the user's own tensors were interpreted.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// "q [2, 65, 2, 64], k and v [2, 40, 2, 64], read as [batch, seqlen, heads, head_dim]", for the
/// run's first case, with d_o if there is a backward pass; "" for generated inputs.
std::string shapes_read(const RunRecord& run);

/// "Tensors of layer7.safetensors: " and the shapes, as one line; "" for generated inputs.
std::string tensors_line(const RunRecord& run);

}  // namespace sparkbench
