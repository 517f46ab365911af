// The axes of an encoder layer: those of its attention that a layer leaves open, and its own.
#pragma once

#include <span>
#include <vector>

#include "sweeps/axes.h"

namespace sparkbench {

/// What a command measures: attention alone, or a whole layer.
enum class Workload { kAttention, kLayer };

/// hidden, ffn, activation, norm, bias, rest: rows of the kind of axes(), none of which has a value
/// where a problem has no layer. A problem that is given one has hidden / head_dim heads, of keys
/// too.
std::span<const Axis* const> layer_axes();

/// Rows of axes() that the workload has flags of, and after them, of a layer, its own.
/// What the axis takes: of a layer no mask is a pattern.
std::string allowed_of(const Axis& axis, Workload workload);

std::vector<const Axis*> axes_of(Workload workload);

/// Whether the user's own tensors say the axis: of a layer how many heads there are they do not.
bool is_said_by_tensors(const Axis& axis, Workload workload);

/// problem_axes(), and after them, of a layer, its own.
std::vector<const Axis*> problem_axes_of(Workload workload);

}  // namespace sparkbench
