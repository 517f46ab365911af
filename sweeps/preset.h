// Named grids. A preset is flags of axes; those that the user gives override them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/axis_flags.h"

namespace sparkbench {

/// The attention of a model: one grid of a preset that has several.
struct ModelShape {
  std::string name;  // CaseProblem::model
  AxisFlags flags;
};

struct Preset {
  std::string name;
  std::string summary;
  AxisFlags flags;  // no kernels: every kernel there is, unless --kernel chooses
  std::vector<ModelShape> models = {};  // instead of `flags`, where there are any
};

/// Those of the workload, in the order in which they are listed.
std::span<const Preset> presets(Workload workload);

std::vector<std::string> preset_names(Workload workload);

/// The preset without flags, whose axes are as by default, where the name is empty. Throws
/// UsageError, with the nearest name, when there is no preset of that name.
const Preset& find_preset(std::string_view name, Workload workload = Workload::kAttention);

/// The cases of the preset's grid, or of each of its models' in turn, as make_grid_axes() and
/// expand_grid() make them.
std::vector<SweepCase> expand_preset(const Preset& preset, const AxisFlags& given,
                                     std::span<const std::string> known_kernels, Workload workload,
                                     std::uint64_t seed);

}  // namespace sparkbench
