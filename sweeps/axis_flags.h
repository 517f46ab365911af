// The command line's axis flags, laid over a preset's.
#pragma once

#include <map>
#include <span>
#include <string>

#include "sweeps/axes.h"
#include "sweeps/grid.h"
#include "sweeps/layer_axes.h"

namespace sparkbench {

/// What was typed after each flag: {"--seqlen", "512:16k:*2"}. Presets are written so too.
using AxisFlags = std::map<std::string, std::string, std::less<>>;

/// Whether the axis' own flag or its shorthand is among them.
bool are_given(const AxisFlags& flags, const Axis& axis);

/// The first value of the axis' default: "64" of "64,128".
std::string first_by_default(const Axis& axis);

/// Whether one of them says what the axis would: --lengths, of --seqlen.
bool are_replaced(const AxisFlags& flags, const Axis& axis);

/// The values of every axis of the workload: the user's, or else the preset's, or else what the
/// axis' row says. A total that is given makes the preset's batch or heads automatic, and so do
/// lengths the batch. Of two axes that say the same the user may give one, the preset's is not then
/// taken. Kernels are chosen from `known_kernels`, by default all. Throws UsageError, one line that
/// names the flag.
GridAxes make_grid_axes(const AxisFlags& preset, const AxisFlags& given,
                        std::span<const std::string> known_kernels,
                        Workload workload = Workload::kAttention);

}  // namespace sparkbench
