// The value of an axis, whatever the axis: what the table of axes, grids and records hand around.
#pragma once

#include <string>
#include <variant>

namespace sparkbench {

/// None is what the rest of the problem decides (a batch of "auto"), or what is not known.
using AxisValue = std::variant<std::monostate, bool, int, float, std::string>;

inline bool is_none(const AxisValue& value) { return value.index() == 0; }

/// As the axis' flag takes it: "512", "0.1", "window:256"; "" of none.
std::string text_of_value(const AxisValue& value);

}  // namespace sparkbench
