// How the user's own tensors were understood.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// "q [2, 65, 2, 64], k and v [2, 40, 2, 64], read as [batch, seqlen, heads, head_dim]", of the
/// run's first case, d_o too where there is a backward pass; "" of a run on generated inputs.
std::string shapes_read(const RunRecord& run);

/// "Tensors of layer7.safetensors: " and these, a line; "" likewise.
std::string tensors_line(const RunRecord& run);

}  // namespace sparkbench
