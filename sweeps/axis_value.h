// The value of any axis, as passed between the axis table, grids and records.
#pragma once

#include <string>
#include <variant>

namespace sparkbench {

/// None: the rest of the problem determines it (a batch of "auto"), or it is unknown.
using AxisValue = std::variant<std::monostate, bool, int, float, std::string>;

inline bool is_none(const AxisValue& value) { return value.index() == 0; }

/// In the form of the axis's flag: "512", "0.1", "window:256"; "" for none.
std::string text_of_value(const AxisValue& value);

}  // namespace sparkbench
