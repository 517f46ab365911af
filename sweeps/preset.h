// Named grids. A preset is a set of axis flags; the user's flags override them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweeps/axis_flags.h"

namespace sparkbench {

/// One grid of a preset with several: the attention of a model, or a part of what `judge` asks.
struct ModelShape {
  std::string name;  // CaseProblem::model
  AxisFlags flags;
  bool compares = false;  // with other kernels, by time: see Comparison
};

/// The parts of grids that compare kernels.
struct Comparison {
  bool is_timed = false;            // else they have no cases
  std::vector<std::string> rivals;  // the kernels in addition to those of --kernel
};

struct Preset {
  std::string name;
  std::string summary;
  AxisFlags flags;                      // no kernels: --kernel chooses; default all
  std::vector<ModelShape> models = {};  // instead of `flags`, if there are any
};

/// The presets of the workload, in the order of `list`.
std::span<const Preset> presets(Workload workload);

std::vector<std::string> preset_names(Workload workload);

/// An empty name gives the preset without flags, whose axes have their defaults. Throws UsageError,
/// with the nearest name, for an unknown name.
const Preset& find_preset(std::string_view name, Workload workload = Workload::kAttention);

/// The cases of the preset's grid, or of each of its models in turn, as make_grid_axes() and
/// expand_grid() make them.
std::vector<SweepCase> expand_preset(const Preset& preset, const AxisFlags& given,
                                     std::span<const std::string> known_kernels, Workload workload,
                                     std::uint64_t seed, const Comparison& comparison = {});

}  // namespace sparkbench
