#include "sweeps/axis_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// The value of the axis's own flag, or the one that its shorthand stands for.
std::optional<std::string> text_given(const AxisFlags& flags, const Axis& axis) {
  const auto own = flags.find(axis.flag);
  const AxisShorthand& shorthand = axis.shorthand;
  if (shorthand.flag != nullptr) {
    const auto short_one = flags.find(shorthand.flag);
    if (short_one != flags.end() && own != flags.end()) {
      throw UsageError(fmt::format("{} and {}: the second is a shorthand of the first; give one",
                                   axis.flag, shorthand.flag));
    }
    if (short_one != flags.end()) return shorthand.expand(shorthand.flag, short_one->second);
  }
  return own != flags.end() ? std::optional(own->second) : std::nullopt;
}

/// Whether a given total overrides the preset's value of the axis.
bool is_total_given(const AxisFlags& given, const Axis& axis) {
  return std::any_of(axes().begin(), axes().end(), [&](const Axis& total) {
    return total.of != nullptr && std::string_view(total.of) == axis.name &&
           are_given(given, total);
  });
}

/// Whether the flags give a value other than "none".
bool is_said(const AxisFlags& flags, const Axis& axis) {
  const auto text = text_given(flags, axis);
  return text && *text != axis.initial;
}

/// Throws UsageError if two of the flags set the same thing.
void require_no_rivals(const AxisFlags& given) {
  for (const Axis& axis : axes()) {
    const Axis* const other = find_replacement(axis);
    if (other == nullptr || !are_given(given, axis) || !is_said(given, *other)) continue;
    throw UsageError(fmt::format("{} and {}: both say how long sequences are; give one",
                                 other->flag, axis.flag));
  }
}

bool is_replaced_one_given(const AxisFlags& given, const Axis& axis) {
  return std::any_of(axis.replaces.begin(), axis.replaces.end(),
                     [&](std::string_view name) { return are_given(given, find_axis(name)); });
}

std::string text_of_axis(const AxisFlags& preset, const AxisFlags& given, const Axis& axis) {
  if (auto text = text_given(given, axis)) return *text;
  const auto text = text_given(preset, axis);
  const bool is_overruled = is_total_given(given, axis) || is_replaced_one_given(given, axis);
  return text && !is_overruled ? *text : axis.initial;
}

/// Attention axes for which a layer has no flag keep their defaults.
GridAxes make_layer_grid_axes(const AxisFlags& preset, const AxisFlags& given,
                              std::span<const std::string> known_kernels) {
  GridAxes grid;
  grid.is_of_layers = true;
  for (const Axis* axis : layer_axes()) {
    grid.values[axis->name] = axis->parse(axis->flag, text_of_axis(preset, given, *axis));
  }
  const auto leave = [](const AxisFlags& flags) {
    AxisFlags left = flags;
    for (const Axis* axis : layer_axes()) left.erase(axis->flag);
    return left;
  };
  GridAxes attention = make_grid_axes(leave(preset), leave(given), known_kernels);
  grid.kernels = std::move(attention.kernels);
  grid.totals = attention.totals;
  grid.values.merge(attention.values);
  return grid;
}

}  // namespace

bool are_given(const AxisFlags& flags, const Axis& axis) {
  return text_given(flags, axis).has_value();
}

std::string first_by_default(const Axis& axis) {
  const std::string_view text = axis.initial;
  return std::string(text.substr(0, text.find(',')));
}

bool are_replaced(const AxisFlags& flags, const Axis& axis) {
  const Axis* const other = find_replacement(axis);
  return other != nullptr && is_said(flags, *other);
}

GridAxes make_grid_axes(const AxisFlags& preset, const AxisFlags& given,
                        std::span<const std::string> known_kernels, Workload workload) {
  if (workload == Workload::kLayer) return make_layer_grid_axes(preset, given, known_kernels);
  require_no_rivals(given);
  GridAxes grid;
  for (const Axis& axis : axes()) {
    const std::string text = text_of_axis(preset, given, axis);
    const Axis* const other = find_replacement(axis);
    if (other != nullptr && text_of_axis(preset, given, *other) != other->initial) {
      grid.values[axis.name] = {AxisValue()};
    } else if (axis.parse == nullptr) {
      grid.kernels.assign(known_kernels.begin(), known_kernels.end());
      if (text != axis.initial) grid.kernels = select_names(axis.flag, text, known_kernels);
    } else if (axis.total != nullptr) {
      grid.totals.*axis.total = std::get<int>(axis.parse(axis.flag, text).front());
    } else {
      grid.values[axis.name] = axis.parse(axis.flag, text);
    }
  }
  return grid;
}

}  // namespace sparkbench
