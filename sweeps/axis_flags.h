// The command line's axis flags, combined with a preset's.
#pragma once

#include <map>
#include <span>
#include <string>

#include "sweeps/axes.h"
#include "sweeps/grid.h"
#include "sweeps/layer_axes.h"

namespace sparkbench {

/// The value typed for each flag: {"--seqlen", "512:16k:*2"}. Presets use the same form.
using AxisFlags = std::map<std::string, std::string, std::less<>>;

/// Whether the axis's own flag or its shorthand is among them.
bool are_given(const AxisFlags& flags, const Axis& axis);

/// The first value of the axis's default: "64" of "64,128".
std::string first_by_default(const Axis& axis);

/// Whether one of them replaces the axis, as --lengths replaces --seqlen.
bool are_replaced(const AxisFlags& flags, const Axis& axis);

/// The values of every axis of the workload: the user's, else the preset's, else the default in the
/// axis's row. A given total makes the preset's batch or heads automatic, and given lengths make
/// its batch automatic. If two axes exclude each other, the user may give one, and the preset's
/// other one is dropped. Kernels are chosen from `known_kernels`, by default all. Throws
/// UsageError, one line that names the flag.
GridAxes make_grid_axes(const AxisFlags& preset, const AxisFlags& given,
                        std::span<const std::string> known_kernels,
                        Workload workload = Workload::kAttention);

}  // namespace sparkbench
