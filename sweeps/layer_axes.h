// The axes of an encoder layer: its own, and the axes of its attention that the layer does not fix.
#pragma once

#include <span>
#include <vector>

#include "sweeps/axes.h"

namespace sparkbench {

/// The workload that a command measures: attention by itself, or a whole layer.
enum class Workload { kAttention, kLayer };

/// hidden, ffn, activation, norm, bias, rest: rows like those of axes(). They have a value only if
/// the problem has a layer. Setting them gives a problem hidden / head_dim heads, for keys too.
std::span<const Axis* const> layer_axes();

/// The axis's allowed values: for a layer no mask is a pattern.
std::string allowed_of(const Axis& axis, Workload workload);

/// The rows of axes() that are flags of the workload, followed by a layer's own.
std::vector<const Axis*> axes_of(Workload workload);

/// Whether the user's own tensors determine the axis. A layer's tensors do not determine the number
/// of heads.
bool is_said_by_tensors(const Axis& axis, Workload workload);

/// problem_axes(), followed by a layer's own.
std::vector<const Axis*> problem_axes_of(Workload workload);

}  // namespace sparkbench
