// Named grids. A preset is the values of all axes but the kernel; explicit flags override them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sweeps/grid.h"

namespace sparkbench {

struct Preset {
  std::string name;
  std::string summary;
  GridAxes axes;  // no kernels: every kernel there is, unless --kernel chooses
};

/// In the order in which they are listed.
std::span<const Preset> presets();

/// Throws UsageError, with the nearest name, when there is no preset of that name.
const Preset& find_preset(std::string_view name);

}  // namespace sparkbench
