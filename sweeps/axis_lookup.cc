// Lookups in the rows of axes.cc, and the text of a value.
#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "sweeps/axes.h"
#include "sweeps/layer_axes.h"
#include "sweeps/shell_word.h"
#include "sweeps/shortest.h"

namespace sparkbench {
namespace {

std::string text_of(std::monostate /*none*/) { return ""; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int value) { return std::to_string(value); }
std::string text_of(float value) { return shortest(value); }
std::string text_of(const std::string& value) { return value; }

std::vector<const Axis*> rows_of_problem() {
  std::vector<const Axis*> rows;
  for (const Axis& axis : axes()) {
    if (axis.access.get != nullptr) rows.push_back(&axis);
  }
  return rows;
}

std::vector<const Axis*> rows_in_id_order() {
  std::vector<const Axis*> rows = rows_of_problem();
  const auto place = [](const Axis* axis) { return axis->id.place == 0 ? 1000 : axis->id.place; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Axis* a, const Axis* b) { return place(a) < place(b); });
  return rows;
}

/// The flags of the problem's axes that have a value and satisfy `is_wanted`.
template <class IsWanted>
std::string flags_where(const CaseProblem& problem, IsWanted is_wanted) {
  std::string flags;
  for (const Axis* axis : axes_of(problem.layer ? Workload::kLayer : Workload::kAttention)) {
    if (axis->access.get == nullptr) continue;  // the kernel, or a total
    if (axis->is_implied != nullptr && axis->is_implied(problem)) continue;
    const AxisValue value = axis->access.get(problem);
    if (is_none(value) || !is_wanted(*axis)) continue;
    flags += fmt::format("{}{} {}", flags.empty() ? "" : " ", axis->flag,
                         plain_or_shell_word(text_of_value(value)));
  }
  return flags;
}

}  // namespace

std::string text_of_value(const AxisValue& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

std::span<const Axis* const> problem_axes() {
  static const std::vector<const Axis*> rows = rows_of_problem();
  return rows;
}

std::span<const Axis* const> recorded_axes() {
  static const std::vector<const Axis*> rows = rows_in_id_order();
  return rows;
}

const Axis& find_axis(std::string_view name) {
  for (const Axis& axis : axes()) {
    if (axis.name == name) return axis;
  }
  throw std::invalid_argument(fmt::format("no axis is called '{}'", name));
}

const Axis* find_replacement(const Axis& axis) {
  for (const Axis& other : axes()) {
    if (std::find(other.replaces.begin(), other.replaces.end(), axis.name) !=
        other.replaces.end()) {
      return &other;
    }
  }
  return nullptr;
}

bool equals_twin(const Axis& axis, const CaseProblem& problem) {
  return axis.twin != nullptr &&
         axis.access.get(problem) == find_axis(axis.twin).access.get(problem);
}

std::string flags_of_problem(const CaseProblem& problem, bool has_own_tensors) {
  const Workload workload = problem.layer ? Workload::kLayer : Workload::kAttention;
  return flags_where(problem, [&](const Axis& axis) {
    return !has_own_tensors || !is_said_by_tensors(axis, workload);
  });
}

std::string shape_flags(const CaseProblem& problem) {
  return flags_where(problem, [&](const Axis& axis) {
    const std::vector<AxisValue>& usual = axis.id.usual;
    const bool is_usual =
        std::find(usual.begin(), usual.end(), axis.access.get(problem)) != usual.end();
    return !is_usual && !equals_twin(axis, problem) && axis.name != std::string_view("pass");
  });
}

}  // namespace sparkbench
