// The fields of an encoder layer's record that are known before it runs.
#pragma once

#include <optional>

#include "harness/devices/device.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// FLOPs, bytes and memory of the record's layer, and its stages. Bytes: weights, input and output,
/// for a backward pass also their gradients. `workspace` is the layer's peak memory in addition to
/// these.
void start_layer(const Candidate& candidate, bool is_deterministic, CaseRecord& record);

/// Why the layer is not computed: E-UNSUPPORTED, for no tokens; E-OOM-PREDICTED, on the device or
/// on the device that it emulates; E-ONLY-PREDICTED, for layers that would take minutes to emulate.
std::optional<Reason> why_layer_is_not_computed(const CaseProblem& problem,
                                                const DeviceInfo& device, const CaseRecord& record);

}  // namespace sparkbench
