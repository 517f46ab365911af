// What is known of an encoder layer before it is run.
#pragma once

#include <optional>

#include "harness/devices/device.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// FLOPs, bytes and memory of the record's layer, and its stages. Bytes: weights, input and output,
/// backward their gradients too. `workspace` is what a layer holds at most besides these.
void start_layer(const Candidate& candidate, bool is_deterministic, CaseRecord& record);

/// Why the layer is not computed: E-UNSUPPORTED, of no tokens; E-OOM-PREDICTED, on the device or on
/// the one that it stands for; E-ONLY-PREDICTED, of layers that would take minutes to emulate.
std::optional<Reason> why_layer_is_not_computed(const CaseProblem& problem,
                                                const DeviceInfo& device, const CaseRecord& record);

}  // namespace sparkbench
