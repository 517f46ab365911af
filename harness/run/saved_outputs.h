// `run --save-outputs`: the whole outputs of one kernel, as a safetensors file.
#pragma once

#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "results/record/run_record.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// The kernel whose outputs are saved when --kernel names none: one that accumulates in FP32, on
/// tensor cores of its own where there is one.
std::string kernel_to_save(const Device& device);

/// Throws UsageError unless it is one kernel's: a reference may compute no more than the rows that
/// are compared.
void check_savable(const std::vector<SweepCase>& cases, const Device& device);

/// One line when the device would by itself compute no more than a sample of the problem, else
/// nothing.
std::string cost_of_saving(const SweepCase& sweep_case, const Device& device);

/// The file: o, and of a pass with a backward one dq, dk and dv, F16, [batch, seqlen, heads,
/// head_dim]; lse, F32, [batch, heads, seqlen_q]. Of packed sequences these are [total, heads,
/// head_dim] and [heads, total_q], and where each begins is cu_seqlens_q and cu_seqlens_k, I32.
/// Gradients start from this o and lse. The metadata say which case of which run this is.
std::string outputs_to_safetensors(const PassOutputs& outputs, const CaseRecord& record,
                                   const RunRecord& run);

}  // namespace sparkbench
