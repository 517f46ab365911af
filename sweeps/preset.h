// Named grids. A preset is flags of axes; those that the user gives override them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sweeps/axis_flags.h"

namespace sparkbench {

struct Preset {
  std::string name;
  std::string summary;
  AxisFlags flags;  // no kernels: every kernel there is, unless --kernel chooses
};

/// In the order in which they are listed.
std::span<const Preset> presets();

/// Those of encoder layers, which are no grids of attention alone.
std::span<const Preset> layer_presets();

/// Throws UsageError, with the nearest name, when there is no preset of that name.
const Preset& find_preset(std::string_view name, Workload workload = Workload::kAttention);

}  // namespace sparkbench
