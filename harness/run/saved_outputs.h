// `run --save-outputs`: the whole outputs of one kernel, as a safetensors file.
#pragma once

#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "results/record/run_record.h"
#include "sweeps/grid.h"

namespace sparkbench {

/// The kernel whose outputs are saved if --kernel names none: one with FP32 accumulators, on the
/// device's own tensor cores if possible.
std::string kernel_to_save(const Device& device);

/// Throws UsageError unless the cases have one kernel, which is not a reference: a reference may
/// compute only the compared rows.
void check_savable(const std::vector<SweepCase>& cases, const Device& device);

/// One line if the device would normally compute only a sample of the problem, else empty.
std::string cost_of_saving(const CaseProblem& problem, const Device& device);

/// The file: o and, for a pass with a backward one, dq, dk and dv, F16, [batch, seqlen, heads,
/// head_dim]; lse, F32, [batch, heads, seqlen_q]. For varlen these are [total, heads, head_dim] and
/// [heads, total_q], with the offsets cu_seqlens_q and cu_seqlens_k, I32. Gradients start from this
/// o and lse. The metadata identify the case and the run.
std::string outputs_to_safetensors(const PassOutputs& outputs, const CaseRecord& record,
                                   const RunRecord& run);

}  // namespace sparkbench
